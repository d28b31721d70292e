"""The models behind the gateway: providers that speak OpenAI's protocol or Anthropic's, and models in this process."""
