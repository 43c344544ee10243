/** What a runtime is made of. */
import type { Price } from "../session/host.ts";
import type { Redact } from "../session/json.ts";
import type { Model, ModelLike } from "../session/model.ts";
import type { Platform } from "../session/platform.ts";
import type { Store } from "../store/store.ts";
import type { Key } from "./key.ts";
import type { MemoryOptions } from "./memories.ts";
import type { Places } from "./sandboxes.ts";
import type { Times } from "./services.ts";
import type { Telemetry } from "./telemetry.ts";

export interface RuntimeOptions extends MemoryOptions {
  readonly platform: Platform;
  readonly redact: Redact;
  readonly openStore: () => Promise<Store>;
  readonly openKey: () => Promise<Key>;
  readonly deps: object;
  readonly relaxed: boolean;
  readonly implicitForks: "allow" | "warn" | "error";
  readonly times: Times;
  readonly workflows: Readonly<Record<string, object>>;
  readonly models: (like: ModelLike) => Promise<Model>;
  readonly prices: (model: string, input?: number) => Price | undefined;
  readonly windows?: (like: ModelLike) => number | undefined;
  readonly places: Places;
  readonly telemetry?: Telemetry | undefined;
}
