// biome-ignore lint/performance/noReExportAll: a door that leads to the source, so that programs import "openrath" before anything is built
export * from "../../../../src/sandbox/sandbox.ts";
