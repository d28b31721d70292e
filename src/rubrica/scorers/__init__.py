"""Scoring without a model: one module per rule type, formulas, checklists, pictures."""
