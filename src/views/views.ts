/** The views by their names, as `thread.view(name)` and `?view=` take them. */
import { agentRuntimeView } from './agent-runtime.js'
import type { AgentRuntimeEvent } from './agent-runtime.js'
import { koreView } from './kore.js'
import type { KoreEvent } from './kore.js'
import { openTelemetryView } from './open-telemetry.js'
import type { OpenTelemetryRecord } from './open-telemetry.js'
import { protolinkTaskView, protolinkView } from './protolink.js'
import type { RunEvent, TaskEvent } from './protolink.js'
import type { View, ViewSubject } from './view.js'

/** What each view consists of. */
export interface ViewEvents {
  /** The envelope and classes of the Agent Runtime draft. */
  readonly ar: AgentRuntimeEvent
  /** Trace events of Kore.ai's agent platform. */
  readonly kp: KoreEvent
  /** Run events of Protolink. */
  readonly pl: RunEvent
  /** The events of tasks that Protolink's transports carry. */
  readonly pl_task: TaskEvent
  /** Spans and log records of OpenTelemetry. */
  readonly otel: OpenTelemetryRecord
}

export type ViewName = keyof ViewEvents

interface NamedView<Viewed> {
  /** Its states differ, and nobody but the view itself looks into them. */
  readonly make: (subject: ViewSubject) => View<unknown, Viewed>
  /** The name of an event of it, as streams say it. */
  readonly typeOf: (viewed: Viewed) => string
}

export const VIEWS: { readonly [Name in ViewName]: NamedView<ViewEvents[Name]> } = {
  ar: { make: hidden(agentRuntimeView), typeOf: ({ type }) => type },
  kp: { make: hidden(koreView), typeOf: ({ type }) => type },
  pl: { make: hidden(protolinkView), typeOf: ({ type }) => type },
  pl_task: { make: hidden(protolinkTaskView), typeOf: ({ kind }) => kind },
  otel: { make: hidden(openTelemetryView), typeOf: ({ signal }) => signal },
}

/** Hides the type of the state: it is given back to the view that has made it. */
function hidden<State, Viewed>(
  make: (subject: ViewSubject) => View<State, Viewed>,
): (subject: ViewSubject) => View<unknown, Viewed> {
  return (subject) => make(subject) as View<unknown, Viewed>
}
