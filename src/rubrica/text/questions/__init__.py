"""Educational questions: their parts read out of a text, their key and explanation checked, their topic and grade."""
