import { sandboxConformance } from "../testing/sandbox-conformance.ts";
import { memorySandbox } from "./memory.ts";

sandboxConformance({ name: "memory", create: () => memorySandbox() });
