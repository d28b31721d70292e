"""Rubrics as rewards for reinforcement learning, with the signatures of TRL, verl and verifiers."""
