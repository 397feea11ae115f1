# The chat service of the examples, and the worker: compose.yaml runs both.
FROM python:3.11.13-slim-bookworm

RUN useradd --create-home app && install -d -o app /home/app/.cache/chroma
WORKDIR /srv
COPY pyproject.toml README.md LICENSE NOTICE constraints.txt ./
COPY langmem_tiers langmem_tiers
COPY graphs graphs
COPY integrations integrations
RUN pip install --no-cache-dir -c constraints.txt ".[postgres,openai]" \
    fastapi h11 langgraph-checkpoint-postgres uvicorn
COPY examples/fastapi_service.py ./

USER app
