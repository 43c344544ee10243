# syntax=docker/dockerfile:1
# The command line, the server with the inspector, and the worker, in one image:
#
#   docker build --tag openrath .
#   docker run --rm --read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /tmp \
#     --volume openrath:/data --publish 127.0.0.1:7284:7284 openrath
#
# A project of your own goes to /app/project: `--volume ./project:/app/project:ro`. Everything that is written lies in /data.
# What was tried and what was not: docs/deployment.md.

ARG NODE=22.23.3-bookworm-slim

# The package: compiled with everything that is needed for that, of which nothing goes on.
FROM node:${NODE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY inspector/package.json inspector/
COPY docs/package.json docs/
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build

# What it needs when it runs. SQLite is part of this Node, so nothing is compiled.
FROM node:${NODE} AS dependencies
WORKDIR /app
COPY deploy/package.json deploy/package-lock.json deploy/.npmrc ./
RUN npm ci --ignore-scripts
WORKDIR /app/node_modules/openrath
COPY package.json package-lock.json .npmrc LICENSE ./
COPY inspector/package.json inspector/
COPY docs/package.json docs/
RUN npm ci --omit=dev --omit=optional --omit=peer --ignore-scripts --workspaces=false && rm -r package-lock.json .npmrc inspector docs

FROM node:${NODE}
# For the placement "local". It works where the container may make user namespaces; Docker's default profile forbids that, and
# then the placement refuses by name, as `openrath doctor` says.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends bubblewrap \
  && rm -rf /var/lib/apt/lists/* \
  && install --directory --owner=node --group=node --mode=700 /data
COPY --from=dependencies /app /app
COPY --from=build /build/dist /app/node_modules/openrath/dist
COPY deploy/project /app/project
# Whatever the umask of the checkout was.
RUN chmod -R a+rX /app
ENV NODE_ENV=production OPENRATH_HOME=/data
WORKDIR /app/project
USER node
VOLUME /data
EXPOSE 7284
# Asked of the server. A worker has an endpoint of its own (`worker --health`), see compose.yaml.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "--eval", "fetch('http://127.0.0.1:7284/v1/health').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/node_modules/openrath/dist/cli/main.js"]
CMD ["serve", "--host", "0.0.0.0"]
