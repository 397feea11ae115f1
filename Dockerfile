# The chat service of the examples, and the worker: compose.yaml runs both.
FROM python:3.11.13-slim-bookworm AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY langmem_tiers langmem_tiers
COPY graphs graphs
COPY integrations integrations
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel .
COPY constraints.txt /wheel/

FROM python:3.11.13-slim-bookworm
# What is printed is in the log at once.
ENV PYTHONUNBUFFERED=1
RUN useradd --create-home app && install -d -o app -g app /home/app/.cache /home/app/.cache/chroma
COPY --from=wheel /wheel /wheel
RUN pip install --no-cache-dir -c /wheel/constraints.txt "$(echo /wheel/*.whl)[postgres,openai]" \
    fastapi h11 langgraph-checkpoint-postgres uvicorn
# Without the sources beside it, which would be imported in place of the package.
WORKDIR /srv
COPY examples/fastapi_service.py ./

USER app
