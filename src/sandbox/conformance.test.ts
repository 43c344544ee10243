import { sandboxConformance } from "../testing/sandbox-conformance.ts";
import { hostSandbox } from "./host.ts";
import { localSandbox } from "./local.ts";
import { memorySandbox } from "./memory.ts";

sandboxConformance({ name: "memory", create: () => memorySandbox() });
sandboxConformance({ name: "host", create: () => hostSandbox() });
sandboxConformance({ name: "local", create: () => localSandbox() });
