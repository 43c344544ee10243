import { storeConformance } from "../testing/store-conformance.ts";
import { memoryStore } from "./memory.ts";

storeConformance({ name: "memory", create: () => memoryStore() });
