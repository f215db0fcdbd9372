# syntax=docker/dockerfile:1
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS TARGETARCH
ARG VERSION=dev
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X reverie/cmd/reverie/command.Version=$VERSION" -o /out/reverie ./cmd/reverie

# Certificates and nothing else: no shell, no package manager. Time zones are
# compiled into the binary. There is no PostgreSQL in here either, so
# REVERIE_DATABASE_URL has to be set.
FROM scratch
ARG VERSION=dev
LABEL org.opencontainers.image.title="Reverie" \
      org.opencontainers.image.description="The nightly memory of chat groups" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/reverie /usr/local/bin/reverie
COPY LICENSE THIRD_PARTY_NOTICES.txt /usr/share/doc/reverie/
USER 65532:65532
EXPOSE 8470
ENTRYPOINT ["/usr/local/bin/reverie"]
CMD ["--help"]
