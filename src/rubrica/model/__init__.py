"""The data of Rubrica, frozen: rubrics, rules, scales, contexts, scores, evaluations."""
