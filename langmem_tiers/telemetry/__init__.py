"""What the memory tells whoever runs it: log records, OpenTelemetry spans and metrics. No business logic."""
