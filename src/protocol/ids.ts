/**
 * Ids of runs, steps and calls. They are made from counters of the carried state, so a retry, a replay and a reset make
 * the same ids.
 */

export function runIdOf(run: number): string {
  return `run_${run}`
}

/** The number of a run by its id. */
export function runNumberOf(runId: string): number {
  return Number(runId.slice('run_'.length))
}

/** The id of a run over all threads: `runIdOf` is unique within its thread. */
export function globalRunId(threadId: string, run: number): string {
  return `${threadId}:${runIdOf(run)}`
}

export function stepIdOf(run: number, step: number): string {
  return `step_${run}_${step}`
}

interface ModelCallPlace {
  readonly run: number
  readonly step: number
  /** The prompt tool's call whose nested step it is. */
  readonly frame?: { readonly callId: string } | null | undefined
  /** Earlier model calls of this step, which found nothing to do. */
  readonly idleCalls?: number | undefined
}

/** The operation id of the model call of a step, or of the nested step of a prompt tool's call. */
export function modelOperationId({ run, step, frame, idleCalls }: ModelCallPlace): string {
  const ending = frame == null ? (idleCalls === undefined ? '' : `i${idleCalls}`) : `_${frame.callId}`
  return `model_${run}_${step}${ending}`
}

/** The operation id of a compaction before a model call: one for each position to which a context is cut. */
export function compactionOperationId(
  modelOperation: string,
  { position }: { readonly position: number },
): string {
  return `${modelOperation}_compaction_${position}`
}

const BETWEEN_RUNS = 'between_runs_'

/**
 * The effect of the runtime that compacts a context once its run is over: the step has left it full, or a command asks for it, which has a
 * name of its own.
 */
export function betweenRunsId(run: number, step: number, command?: string): string {
  return `${BETWEEN_RUNS}${run}_${step}${command === undefined ? '' : `_${command}`}`
}

/** The step that an effect of the runtime follows; null for an effect of an application. */
export function placeOfBetweenRuns(effectId: string): { readonly run: number; readonly step: number } | null {
  const [run, step] = effectId.startsWith(BETWEEN_RUNS)
    ? effectId.slice(BETWEEN_RUNS.length).split('_').map(Number)
    : []
  return run === undefined || step === undefined ? null : { run, step }
}

/** The operation id of the list that a run has got of a source of tools. */
export function catalogOperationId(run: number, source: string): string {
  return `catalog_${run}_${source}`
}

/** The operation id of the beginning of a run whose first call was not chosen by a model. */
export function beginOperationId(run: number): string {
  return `begin_${run}`
}

/** The id of a call, which is also its operation id, and the tool-call id that providers get. */
export function callIdOf(run: number, step: number, index: number): string {
  return `call_${run}_${step}_${index}`
}

/** The file with the whole result of a call, if that is too long for a message. */
export function resultPathOf(callId: string): string {
  return `/results/${callId}.txt`
}

/**
 * The operation id of an activation, which precedes a step; `key` identifies the prompt. Its calls are numbered like
 * nested ones.
 */
export function immediatesId(
  { run, step }: { readonly run: number; readonly step: number },
  key: string,
): string {
  return `immediate_${run}_${step}_${key}`
}

/** The suffix of the key of a prompt that becomes active after others of its run. */
export function activationSuffix(activations: number | undefined): string {
  return activations === undefined ? '' : `n${activations}`
}

/**
 * The id by which the workflow names an activation. The workflow has the number of earlier activations, and not the
 * side for which the activity finds a prompt. The id is the key of the operation, whose own id also contains agent and
 * side.
 */
export function activationId(
  { run, step }: { readonly run: number; readonly step: number },
  activations: number | undefined,
): string {
  return `activation_${run}_${step}${activationSuffix(activations)}`
}

/** A call that the nested step of a prompt tool makes. */
export function nestedCallIdOf(frameCallId: string, index: number): string {
  return `${frameCallId}_${index}`
}

/** The operation id of the second half of a call that waited for its result. */
export function resultOperationId(callId: string): string {
  return `${callId}_result`
}

/** The operation id of the work of a worker in another language for a call: its row holds the claim and the answer. */
export function remoteOperationId(callId: string): string {
  return `${callId}_remote`
}

/** The operation id of the outcome of the workflow that a call has started. */
export function workflowOperationId(callId: string): string {
  return `${callId}_workflow`
}

export function settleOperationId(settle: number): string {
  return `settle_${settle}`
}

export function reportOperationId(report: number): string {
  return `report_${report}`
}

/** The key that a tool passes to the service it calls, so that a repeated request has no second effect. */
export function idempotencyKeyOf(threadId: string, callId: string): string {
  return `${threadId}:${callId}`
}

/** The id of an event: unique over all threads of a store, and over its repetitions. */
export function eventIdOf(threadId: string, sequence: number): string {
  return `${threadId}:${sequence}`
}

/** The place that an id of an event names; null: it is none. */
export function placeOfEvent(
  eventId: string,
): { readonly threadId: string; readonly sequence: number } | null {
  const [, threadId, sequence] = /^(.+):(\d{1,10})$/.exec(eventId) ?? []
  return threadId === undefined ? null : { threadId, sequence: Number(sequence) }
}

/** How a thread is tied to its store: by the store's id, in its start, in its memo and in the input of each activity. */

/** The field that the interceptor of activities adds to an answer whose input named no store: the store of the worker. */
export interface StoreAnswer {
  readonly store?: string
}

/** True for an id as `store/store-location.ts` makes it. */
export function isStoreId(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-z]{12}$/.test(value)
}

/** The memo field with the id of a thread's store. A thread that was started by hand has none. */
export const STORE_MEMO = 'store'
