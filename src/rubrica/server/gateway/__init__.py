"""The gateway over HTTP: OpenAI's protocol in front, sign-in, streams and errors around it."""
