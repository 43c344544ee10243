/** The agents that used most tokens, of the sessions on screen. */

import { count, money, plural } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import classes from "./pictures.module.css";
import type { AgentSpent } from "./spendings.ts";

interface Props {
  readonly agents: readonly AgentSpent[];
  readonly sessions: number;
  /** Of how many it is known who used what. */
  readonly known: number;
}

export function AgentsPicture({ agents, sessions, known }: Props) {
  const most = agents[0] === undefined ? 1 : Math.max(...agents.map(({ tokens }) => tokens));
  return (
    <figure className={classes["picture"]}>
      <figcaption>
        <strong className="number">{count(agents.reduce((sum, { tokens }) => sum + tokens, 0))}</strong>{" "}
        <span className="quiet">tokens by agent on all branches of {plural(sessions, "session")} on screen</span>
      </figcaption>
      {known < sessions ? (
        <p className="quiet small" role="status">
          Reading what agents used: {known} of {sessions}
        </p>
      ) : (
        agents.length === 0 && <p className="quiet small">No model was asked yet.</p>
      )}
      <ul className={classes["agents"]}>
        {agents.map(({ agent, tokens, usd }) => (
          <li key={agent} title={`${neutral(agent)}: ${plural(tokens, "token")}, ${money(usd)}`}>
            <span className="given clip small">{agent}</span>
            <span className={classes["share"]}>
              <span style={{ width: `${(tokens / most) * 100}%` }} />
            </span>
            <span className="number small quiet">{count(tokens)}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}
