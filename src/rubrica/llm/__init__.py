"""Language models: clients of providers, retries, limits, cache, prices, settings."""
