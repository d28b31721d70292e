"""Object stores: S3, Google Cloud Storage, Azure Blob Storage, and web servers to read from."""
