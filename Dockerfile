# One image for every process; the command picks it:
#   node services/gateway/src/main.ts     (files, notes, janitor, all: the same way)
#   node libs/store/src/migrate.ts        brings the tables up to date and ends
#   node services/janitor/src/admin.ts    operators' commands
# docs/operations.md tells how to run them.

ARG NODE_IMAGE=node:26-bookworm-slim

FROM ${NODE_IMAGE} AS tools
ARG PNPM_VERSION=10.34.8
RUN npm install --global --no-fund --no-audit pnpm@${PNPM_VERSION}
WORKDIR /app

# What runs, and nothing that only tests or builds: the packages that the one-process shape needs are all there are.
FROM tools AS server
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./
COPY libs libs
COPY services services
RUN pnpm install --prod --frozen-lockfile --filter-prod "@mayfly/all..." \
 && rm -rf services/*/test libs/*/test libs/launcher libs/local-stores libs/testing \
 && find . -type d -name .bin -prune -exec rm -r {} + \
 && find node_modules/.pnpm -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete
# Compiled code, so that no process loads the type stripper: 6 to 12 MB less in each. Node keeps it for a user and a set of options: those
# that the image runs with. The programs end at once, for they have no settings.
ENV NODE_COMPILE_CACHE=/app/.compile-cache NODE_OPTIONS=--max-semi-space-size=8
RUN install -d -o 1000 -g 1000 .compile-cache
USER 1000:1000
RUN for program in services/*/src/main.ts services/janitor/src/admin.ts libs/store/src/migrate.ts; do node $program 2> /dev/null || true; done \
 && node --input-type=module --eval "import { globSync } from 'node:fs'; \
      const files = globSync('/app/{libs,services}/*/src/**/*.ts', { exclude: ['**/main.ts', '**/admin.ts', '**/migrate.ts'] }); \
      for (const file of files) await import(file)" \
 && chmod --recursive a+rX .compile-cache

# The web pages.
FROM tools AS web
COPY . .
RUN pnpm install --frozen-lockfile --filter "@mayfly/web..." && node apps/web/build/build.ts

# What of the system below a process needs: Node, the libraries that it is linked with, and nothing that could be started besides. Of each Debian
# package that something is taken from, the entry that scanners read, and its licence. Node brings its own list of certificate authorities.
FROM ${NODE_IMAGE} AS node
RUN mkdir -p /image/etc /image/tmp /image/usr/share/doc /image/var/lib/dpkg/status.d \
 && chmod 1777 /image/tmp \
 && printf '%s\n' root:x:0:0::/:/ node:x:1000:1000::/:/ > /image/etc/passwd \
 && printf '%s\n' root:x:0: node:x:1000: > /image/etc/group \
 && for file in /usr/local/bin/node $(ldd /usr/local/bin/node | grep -o '/[^ ]*') /etc/nsswitch.conf /etc/os-release /etc/debian_version; do \
      cp --parents --dereference $file /image || exit 1; \
      dpkg-query --search $file /usr$file 2> /dev/null | cut -d : -f 1 >> /tmp/packages; \
    done \
 && for package in base-files $(sort --unique /tmp/packages); do \
      dpkg-query --status $package > /image/var/lib/dpkg/status.d/$package || exit 1; \
      cp --parents --dereference /usr/share/doc/$package/copyright /image || exit 1; \
    done

FROM scratch
COPY --from=node /image /
WORKDIR /app
COPY --from=server /app ./
COPY --from=web /app/apps/web/dist web
COPY LICENSE ./
ARG VERSION=0.2.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Mayfly" \
      org.opencontainers.image.description="Encrypted file and note sharing through links that live briefly" \
      org.opencontainers.image.licenses="AGPL-3.0-only" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV PATH=/usr/local/bin \
    NODE_ENV=production \
    NODE_OPTIONS=--max-semi-space-size=8 \
    MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=131072 \
    NODE_COMPILE_CACHE=/app/.compile-cache \
    WEB_DIR=/app/web \
    ADMIN_PORT=9000
# Numbers, so that Kubernetes can see that it is not root.
USER 1000:1000
EXPOSE 3000 9000
STOPSIGNAL SIGTERM
# A process is well while its admin port answers. Whether it should get requests is /readyz, for who balances.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ADMIN_PORT}/livez`).then((a) => process.exit(a.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "services/gateway/src/main.ts"]
