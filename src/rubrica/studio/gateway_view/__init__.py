"""What the gateway's pages show, worked out without a browser."""
