# The image of the catalog, from which OLM installs. Its base has /bin/opm, which serves it, and
# /bin/grpc_health_probe, with which OLM looks after it.
#
#   docker build -f catalog.Dockerfile -t quay.io/critical-service/operator-catalog:v1.0.0 .
ARG OPM_IMAGE=quay.io/operator-framework/opm:latest
# The image for the machine that builds, where that is another one: buildah takes one reference for one image.
ARG OPM_BUILDER=${OPM_IMAGE}

# The cache is the same for every architecture, so it is made by the one that builds.
FROM --platform=${BUILDPLATFORM} ${OPM_BUILDER} AS builder
COPY catalog /configs
RUN ["/bin/opm", "serve", "/configs", "--cache-dir=/tmp/cache", "--cache-only"]

FROM ${OPM_IMAGE}
ARG VERSION=dev
LABEL org.opencontainers.image.title="critical-service-operator catalog" \
      org.opencontainers.image.description="The file-based catalog from which OLM installs the Critical Service Operator" \
      org.opencontainers.image.source="https://github.com/critical-service/operator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      operators.operatorframework.io.index.configs.v1=/configs
COPY --from=builder /configs /configs
COPY --from=builder /tmp/cache /tmp/cache
ENTRYPOINT ["/bin/opm"]
CMD ["serve", "/configs", "--cache-dir=/tmp/cache"]
