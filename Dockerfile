# The image of the operator and of the responder, which are two programs: /manager runs unless a Pod
# names another command. Two ways to build it, both without privileges at run time:
#
#   docker build .                                              compiles inside; needs a registry for GO_IMAGE and BASE
#   docker build --target prebuilt --build-arg BASE=scratch .   packs bin/linux-<arch>; needs no registry
#
# `make docker-build` and `make docker-build PREBUILT=1` do one and the other,
# with docker, podman or buildah.

# Where the binaries come from and what lies below them. Any base does, as they are static.
ARG GO_IMAGE=docker.io/library/golang:1.26
ARG BASE=gcr.io/distroless/static:nonroot

FROM ${BASE} AS base
ARG VERSION=dev
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="critical-service-operator" \
      org.opencontainers.image.description="Makes sure that a critical Kubernetes Service always has something that answers" \
      org.opencontainers.image.source="https://github.com/critical-service/operator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}"
# A number, because the kubelet cannot tell of a name that it is not root.
USER 65532:65532
ENTRYPOINT ["/manager"]
COPY LICENSE /licenses/

# Before the stages that need a registry: some builders go through all stages up to their target.
FROM base AS prebuilt
ARG TARGETARCH
COPY bin/linux-${TARGETARCH}/manager /manager
COPY bin/linux-${TARGETARCH}/responder /responder
COPY bin/linux-${TARGETARCH}/THIRD_PARTY_LICENSES /licenses/

FROM --platform=${BUILDPLATFORM} ${GO_IMAGE} AS build
WORKDIR /src
# The modules first: this layer stays valid while only sources change.
COPY go.mod go.sum ./
RUN go mod download
COPY main.go ./
COPY api api
COPY cmd/responder cmd/responder
COPY config/crd config/crd
COPY config/grafana config/grafana
COPY config/prometheus config/prometheus
COPY controllers controllers
COPY hack/licenses hack/licenses
COPY internal internal
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
ARG COMMIT=unknown
RUN export CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} && \
    ldflags="-s -w \
      -X github.com/critical-service/operator/internal/version.Version=${VERSION} \
      -X github.com/critical-service/operator/internal/version.Commit=${COMMIT}" && \
    go build -trimpath -buildvcs=false -ldflags "$ldflags" -o /manager . && \
    go build -trimpath -buildvcs=false -ldflags "$ldflags" -o /responder ./cmd/responder
RUN go run ./hack/licenses -os ${TARGETOS} -arch ${TARGETARCH} /THIRD_PARTY_LICENSES . ./cmd/responder

FROM base
COPY --from=build /manager /manager
COPY --from=build /responder /responder
COPY --from=build /THIRD_PARTY_LICENSES /licenses/
