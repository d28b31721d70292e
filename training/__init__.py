"""Makes the weights of the models that come with Rubrica, from examples written for them."""
