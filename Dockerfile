# The service and its dashboard. Build:  docker build -t covbandit .
#
# It listens on all addresses of the container, so the store needs a token before the first start:
#
#   docker run --rm -v covbandit:/data covbandit token create me --scope admin
#   docker run -d --stop-timeout 40 -p 127.0.0.1:8765:8765 -v covbandit:/data covbandit
#
# Under a name of its own, and with PostgreSQL (the URL holds a password, so it comes from the environment):
#
#   docker run -d --stop-timeout 40 -p 8765:8765 -e COVBANDIT_STORE covbandit \
#     serve --host 0.0.0.0 --allow-host studies.example.org

FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/covbandit \
 && /opt/covbandit/bin/pip install --no-cache-dir -c constraints.txt '.[service,postgres]'

FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /home/covbandit --create-home covbandit \
 && install -d -o covbandit -g covbandit /data
COPY --from=build /opt/covbandit /opt/covbandit
USER covbandit
ENV PATH=/opt/covbandit/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/home/covbandit/kernels \
    COVBANDIT_STORE=sqlite:////data/covbandit.db
# Kernels are compiled here once, instead of by every container at its first ask.
RUN covbandit warmup
VOLUME /data
WORKDIR /data
EXPOSE 8765
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["python", "-c", \
  "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/api/v1/health', timeout=4)"]
ENTRYPOINT ["covbandit"]
CMD ["serve", "--host", "0.0.0.0"]
