/**
 * What this runtime has of the capabilities that other runtimes name, and what it has not, each by its name.
 *
 * Owns: the tables of what is unavailable, with the reasons, of families of capabilities by layer, and of the facts, the commands and the
 * expanded event families of the Agent Runtime draft. `scripts/conformance.ts` takes its unavailable ids from here. Does not own: what a thread may do now
 * (`thread.tools()`, `thread.permissions()`), and which event of the log is which of the draft (`agent-runtime.ts`).
 */

/** Why a read has no value. Nobody takes one of these for success. */
export type MissingValue =
  /** The runtime has not enough facts to say. */
  | 'unknown'
  /** This runtime has no such thing. */
  | 'unavailable'
  /** The thread has no such thing. */
  | 'not_applicable'
  /** It was true, and may have changed. */
  | 'stale'
  /** A permission, a credential, a limit or an answer is needed first. */
  | 'blocked'

/** The place of a value that this runtime cannot have. */
export interface Unavailable {
  readonly unavailable: string
}

/** A capability that cannot exist here. */
export interface UnavailableCapability {
  /** The id of its requirement, as docs/generated/conformance.md lists it. */
  readonly id: string
  readonly name: string
  readonly reason: string
}

/** A family of capabilities. `core` is what each runtime of the kind has, `extension` is optional, `profile` is stricter. */
export interface CapabilityFamily {
  readonly layer: 'core' | 'extension' | 'profile'
  readonly name: string
  /** `partial`: some of it is among the unavailable ones. */
  readonly status: 'available' | 'partial' | 'unavailable'
  /** Where it is read or done; for what is unavailable, why. */
  readonly detail: string
}

/** A fact of a layer of the Agent Runtime draft. */
export interface FactCapability {
  readonly layer: 'input' | 'execution' | 'state' | 'coordination' | 'observability'
  readonly name: string
  readonly status: 'available' | 'unavailable'
  /** Where it is read; for what is unavailable, why. */
  readonly detail: string
}

/** A command of the Agent Runtime draft: where it is given, or why it is not there. */
export type CommandCapability =
  | {
      readonly name: string
      readonly status: 'available'
      /** The method of the client: `threads` is a `ThreadClient`, `thread` the handle of a thread. */
      readonly client: string
      /** The `operationId` of the route in the OpenAPI document. */
      readonly operation: string
    }
  | { readonly name: string; readonly status: 'unavailable'; readonly reason: string }

/** An event of an expanded family of the Agent Runtime draft: it is in the view `ar`, or why it is not there. */
export type EventCapability =
  | { readonly type: string; readonly family: string; readonly status: 'available' }
  | {
      readonly type: string
      readonly family: string
      readonly status: 'unavailable'
      readonly reason: string
    }

const NO_PROCESSES = 'the runtime starts no processes'
const NO_SANDBOX = 'there is no sandbox'
const NO_ENVIRONMENT = "there is no execution environment of the runtime's own"
const NO_CHANNELS = 'there are no remote channels'
const NO_BENCHMARKS = 'the runtime runs no benchmark trials'

export const UNAVAILABLE: readonly UnavailableCapability[] = [
  ['AR-S1.3', 'reference_profile', 'the text of that profile is not in the specification'],
  ['AR-S3.2', 'command_facts', NO_PROCESSES],
  ['AR-S3.9', 'remote_channels', `${NO_CHANNELS}; streams resume by cursor`],
  ['AR-EF.2', 'sandbox_events', NO_SANDBOX],
  ['AR-EF.4', 'process_events', NO_PROCESSES],
  ['AR-EF.8', 'channel_events', NO_CHANNELS],
  ['AR-EF.12', 'benchmark_events', NO_BENCHMARKS],
  ['AR-CP.16', 'get_execution_environment', NO_ENVIRONMENT],
  ['AR-CP.17', 'process_commands', NO_PROCESSES],
  ['AR-CP.21', 'benchmark_commands', NO_BENCHMARKS],
  ['AR-CC.11', 'process_targets', NO_PROCESSES],
  ['AR-CC.12', 'process_recovery', NO_PROCESSES],
  ['AR-CC.15', 'benchmark_command_exports', 'there are no benchmark commands'],
  ['AR-SN.10', 'execution_environment_snapshot', NO_ENVIRONMENT],
  ['AR-SN.13', 'benchmark_summary', NO_BENCHMARKS],
  ['AR-SN.14', 'channel_summary', NO_CHANNELS],
  ['AR-TC.9', 'concurrent_tool_calls', 'calls of one answer run one after another, as SA-R-05.1 demands'],
  ['AR-ER.5', 'benchmark_export', NO_BENCHMARKS],
  ['AR-ER.6', 'benchmark_verdict', 'the row informs and demands nothing; there is no benchmark export'],
  ['AR-PS.6', 'sandbox_profile', NO_SANDBOX],
  ['AR-PS.7', 'sandboxed_state', 'there is no sandbox, and nothing is shown as sandboxed'],
  ['AR-EE.1', 'execution_environment', NO_ENVIRONMENT],
  ['AR-EE.2', 'execution_environment_of_a_turn', NO_ENVIRONMENT],
  ['AR-EE.3', 'process_lifecycle', NO_PROCESSES],
  ['AR-EE.5', 'command_review', 'the runtime runs no commands'],
  ['AR-EE.6', 'process_diagnostics', NO_PROCESSES],
  ['KP-02.3', 'channel_connections', 'there are no projects with connections of channels'],
  ['KP-03.3', 'code_tools', 'there is no sandbox for code'],
  ['KP-03.4', 'connector_tools', 'there are no built-in connectors'],
  ['KP-03.6', 'knowledge_base_tools', 'there is no built-in knowledge base'],
  ['KP-12.2', 'websocket', 'there is no WebSocket door; streams are server-sent events'],
].map(([id = '', name = '', reason = '']) => ({ id, name, reason }))

const NO_TASKS = 'there are no tasks beside the messages of a thread, and no jobs'
const NO_EVIDENCE = 'the runtime keeps no evidence of its own; it gives the facts of which one is made'

/** The families of each layer, of the Agent Runtime draft, in its order. */
export const FAMILIES: readonly CapabilityFamily[] = [
  core(
    'identities',
    'available',
    'ids of runtime, session, thread, turn, run, step, call, request and subagent, in each event',
  ),
  core('event_envelope', 'available', 'events(), and views of them'),
  core(
    'control_plane',
    'partial',
    'ThreadClient, ThreadHandle and the HTTP API; no tasks, processes or trials',
  ),
  core(
    'snapshots',
    'partial',
    'snapshot(), and a read for each part; no tasks, environment, channels or trials',
  ),
  core(
    'ownership',
    'available',
    'what is recorded is written by the runtime only; clients read, and send commands',
  ),
  extension('permission', 'available', 'permissions(), decisions() and permission events'),
  extension('sandbox', 'unavailable', NO_SANDBOX),
  extension('hooks', 'available', 'hook events, and policy.changed'),
  extension('process', 'unavailable', NO_PROCESSES),
  extension('routing', 'available', 'routing(), and routing events'),
  extension('task_graph', 'unavailable', NO_TASKS),
  extension('subagent', 'available', 'children(), tree() and subagent events'),
  extension('job', 'unavailable', NO_TASKS),
  extension('channel', 'unavailable', NO_CHANNELS),
  extension('history', 'available', 'messages(), events() and boundaries()'),
  extension('evidence', 'unavailable', NO_EVIDENCE),
  {
    layer: 'profile',
    name: 'everthread',
    status: 'available',
    detail:
      'the core with runtimeId, sessionId and sequence in each event that is stored, and ids of what a type is about',
  },
]

function core(name: string, status: CapabilityFamily['status'], detail: string): CapabilityFamily {
  return { layer: 'core', name, status, detail }
}

function extension(name: string, status: CapabilityFamily['status'], detail: string): CapabilityFamily {
  return { layer: 'extension', name, status, detail }
}

/** The facts of the layer map of the Agent Runtime draft, in its order. */
export const FACTS: readonly FactCapability[] = [
  available('input', 'session', 'sessionId of an event, sessions.get()'),
  available('input', 'thread', 'threadId of an event, find()'),
  available('input', 'turn', 'turnId of an event of the view ar, activeTurn of readModel()'),
  absent('input', 'draft', 'a text that nobody has sent belongs to the client that has it'),
  available('input', 'attachments', 'attachments of a message'),
  available('input', 'source_channel', 'source of message() and of an item of queue()'),
  available(
    'input',
    'request_ids',
    'the id of a message or call that its sender gave; X-Request-Id over HTTP',
  ),
  available('execution', 'turn_status', 'turn events of the view ar, message()'),
  absent('execution', 'task_lifecycle', NO_TASKS),
  absent('execution', 'task_attempts', NO_TASKS),
  available('execution', 'model_routing', 'routing(), and routing events'),
  available('execution', 'tool_calls', 'toolCall(), and tool events'),
  available('execution', 'action_requests', 'pending of snapshot(), action.required and action.resolved'),
  available('execution', 'subagents', 'children(), and subagent events'),
  available('state', 'snapshots', 'snapshot()'),
  available('state', 'thread_read_model', 'readModel()'),
  available('state', 'queue', 'queue(), and queue.changed'),
  available('state', 'pending_requests', 'pending of readModel(), threads.pending()'),
  available('state', 'incidents', 'incidents of diagnostics()'),
  available('state', 'checkpoints', 'versions of files in artifacts(), cuts of the context in boundaries()'),
  available('coordination', 'tool_inventory', 'tools(), and tool.catalog.resolved'),
  available('coordination', 'context_refs', 'context.resolved, boundaries()'),
  available('coordination', 'artifact_refs', 'artifact.changed of the view ar, artifacts()'),
  absent('coordination', 'evidence_refs', NO_EVIDENCE),
  available('coordination', 'policy_decisions', 'decisions(), and permission.evaluated'),
  available('observability', 'trace_ids', 'traceId of an event, where telemetry is collected'),
  available('observability', 'spans', 'spanId of an event, and the view otel'),
  available('observability', 'timeline', 'events()'),
  absent('observability', 'evidence_pack', NO_EVIDENCE),
  absent('observability', 'replay_case', NO_EVIDENCE),
  absent('observability', 'verification_summaries', NO_EVIDENCE),
]

function available(layer: FactCapability['layer'], name: string, detail: string): FactCapability {
  return { layer, name, status: 'available', detail }
}

function absent(layer: FactCapability['layer'], name: string, detail: string): FactCapability {
  return { layer, name, status: 'unavailable', detail }
}

/** The commands of the control plane of the Agent Runtime draft, in its order. */
export const COMMANDS: readonly CommandCapability[] = [
  command('submit_turn', 'thread.send', 'sendMessage'),
  command('interrupt_turn', 'thread.stop', 'stopThread'),
  command('resume_thread', 'thread.continue', 'continueThread'),
  ...missing(NO_TASKS, ['create_task', 'update_task', 'start_task', 'append_task_progress']),
  ...missing(NO_TASKS, ['pause_task', 'resume_task', 'cancel_task', 'retry_task']),
  ...missing(NO_TASKS, ['complete_task', 'fail_task', 'list_tasks', 'get_task']),
  ...missing(NO_TASKS, ['link_tasks', 'unlink_tasks']),
  command('respond_action', 'thread.respond', 'answerRequest'),
  command('remove_queued_turn', 'thread.removeQueued', 'removeQueued'),
  command('promote_queued_turn', 'thread.promote', 'promoteQueued'),
  command('get_session', 'threads.sessions.get', 'getSession'),
  command('get_thread_read', 'thread.readModel', 'getReadModel'),
  command('get_tool_inventory', 'thread.tools', 'getTools'),
  // The call of an agent starts a subagent, and a call that names one writes to it; the others are commands of the subagent's thread.
  command('spawn_subagent', 'thread.queueTool', 'queueTool'),
  command('send_subagent_input', 'thread.queueTool', 'queueTool'),
  command('wait_subagents', 'thread.waitUntilIdle', 'waitForResult'),
  command('resume_subagent', 'thread.continue', 'continueThread'),
  command('close_subagent', 'thread.terminate', 'terminateThread'),
  ...missing(NO_EVIDENCE, ['export_evidence', 'export_replay']),
  // What would be decided about a call of each tool; a person decides about one that waits.
  command('evaluate_permission', 'thread.tools', 'getTools'),
  command('resolve_permission', 'thread.respond', 'answerRequest'),
  ...missing(NO_ENVIRONMENT, ['get_execution_environment']),
  ...missing(NO_PROCESSES, ['write_process_stdin', 'terminate_process']),
  command('list_subagents', 'thread.children', 'listChildren'),
  ...missing(NO_TASKS, ['list_jobs', 'create_job', 'get_job', 'cancel_job']),
  // A reader gives the cursor of what it has, which acknowledges all before it.
  command('reconnect_channel', 'thread.events', 'followEvents'),
  command('ack_events', 'thread.events', 'followEvents'),
  ...missing(NO_EVIDENCE, ['export_review']),
  ...missing(NO_BENCHMARKS, ['start_benchmark_trial', 'record_benchmark_reward', 'export_benchmark_trial']),
  ...missing(NO_BENCHMARKS, ['compare_benchmark_runs']),
]

function command(name: string, client: string, operation: string): CommandCapability {
  return { name, status: 'available', client, operation }
}

function missing(reason: string, names: readonly string[]): readonly CommandCapability[] {
  return names.map((name) => ({ name, status: 'unavailable', reason }))
}

/** The events of the expanded families of the Agent Runtime draft, in its order. */
export const FAMILY_EVENTS: readonly EventCapability[] = [
  ...emitted('permission', ['permission.evaluated', 'permission.requested', 'permission.resolved']),
  ...unemitted('sandbox', NO_SANDBOX, ['sandbox.applied', 'sandbox.violation']),
  ...emitted('hooks', ['hook.started', 'hook.completed', 'hook.failed', 'policy.changed']),
  ...unemitted('process', NO_PROCESSES, ['process.started', 'process.output', 'process.input']),
  ...unemitted('process', NO_PROCESSES, ['process.completed', 'process.failed', 'process.terminated']),
  ...emitted('routing', ['task.profile.resolved', 'routing.candidates.resolved', 'routing.decided']),
  ...emitted('routing', ['routing.fallback.applied', 'routing.not_possible', 'routing.single_candidate']),
  ...unemitted('task_graph', NO_TASKS, ['task.delegated', 'task.dependency.updated', 'task.attempt.started']),
  ...unemitted('task_graph', NO_TASKS, ['task.attempt.completed', 'task.attempt.failed']),
  ...emitted('limits', ['cost.estimated', 'cost.recorded', 'rate_limit.hit', 'quota.low', 'quota.blocked']),
  ...unemitted('channel', NO_CHANNELS, ['channel.connected', 'channel.disconnected', 'channel.resumed']),
  ...unemitted('channel', NO_CHANNELS, ['channel.message', 'channel.permission_forwarded']),
  ...unemitted('channel', NO_CHANNELS, ['channel.permission_returned']),
  ...unemitted('job', NO_TASKS, ['job.created', 'job.started', 'job.progress', 'job.item.started']),
  ...unemitted('job', NO_TASKS, ['job.item.completed', 'job.item.failed', 'job.completed', 'job.failed']),
  ...unemitted('job', NO_TASKS, ['job.cancelled']),
  ...unemitted('output', 'a long result is a file: artifact.changed, and outputRef of tool.result', [
    'output.spilled',
  ]),
  ...unemitted('output', 'what is shortened says so itself: truncated of tool.started and tool.result', [
    'output.truncated',
  ]),
  ...unemitted('output', 'secrets are hidden whenever an event is read, and that leaves no record', [
    'output.redacted',
  ]),
  ...unemitted('output', 'outputs do not expire before their thread is deleted', ['output.expired']),
  ...emitted('history', ['history.window.loaded', 'history.reconstructed']),
  ...emitted('history', ['history.rollback.started', 'history.rollback.completed', 'snapshot.repaired']),
  ...unemitted('benchmark', NO_BENCHMARKS, ['benchmark.dataset.resolved']),
  ...unemitted('benchmark', NO_BENCHMARKS, ['benchmark.configuration.resolved', 'benchmark.trial.started']),
  ...unemitted('benchmark', NO_BENCHMARKS, ['benchmark.trial.completed', 'benchmark.trial.failed']),
  ...unemitted('benchmark', NO_BENCHMARKS, ['benchmark.reward.recorded', 'benchmark.comparison.completed']),
]

function emitted(family: string, types: readonly string[]): readonly EventCapability[] {
  return types.map((type) => ({ type, family, status: 'available' }))
}

function unemitted(family: string, reason: string, types: readonly string[]): readonly EventCapability[] {
  return types.map((type) => ({ type, family, status: 'unavailable', reason }))
}

/** What the runtime has, and what it has not. */
export interface Capabilities {
  readonly families: readonly CapabilityFamily[]
  readonly facts: readonly FactCapability[]
  readonly commands: readonly CommandCapability[]
  readonly events: readonly EventCapability[]
  readonly unavailable: readonly UnavailableCapability[]
}
