"""Which of several responses is better, said by the server's judges."""
