"""What happens after the reply: embedding, filing and projecting, each behind a durable cursor."""
