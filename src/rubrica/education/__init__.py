"""Questions for learners: judged one by one, by response, and over a whole curriculum."""
