/**
 * The record of an action: what was proposed, what was decided about it, and what came of it.
 * Owns: what the row of a call keeps of the action beside its decision, and the record that is read from it.
 * Does not own: the decision (`judge.ts`), what a policy gets (`action.ts`), and the rows (`store/calls/tool-calls.ts`).
 * Invariants: what the row of the call says is not kept twice, so a call of a tool about which nothing is said keeps nothing; fields
 * whose names tell that they are secret are hidden in the record.
 */
import { isDeepStrictEqual } from 'node:util'

import type { AttachmentRef } from '../protocol/message.js'
import type { JsonObject, JsonValue } from '../protocol/values.js'
import type { ActionKind } from '../protocol/event-codes.js'
import type { Action, ActionTraits } from './action.js'
import type { PermissionDecision, PermissionMode } from './judge.js'
import type { PreviewPart } from './preview.js'
import { redactFields } from './redact-fields.js'

/** What the row of a call keeps of the action. */
interface KeptAction {
  /** @default 'tool' */
  readonly kind?: ActionKind
  /** As they were checked, with defaults applied, where the row has others: as text, because their nesting is unbounded (T10). */
  readonly arguments?: string
  readonly readOnly?: true
  /** Its code is that of a worker in another language. */
  readonly remote?: true
}

/** The JSON in the row of a call. */
export interface KeptDecision extends PermissionDecision {
  readonly action?: KeptAction
}

interface JudgedAction {
  readonly kind: ActionKind
  /** As they were checked. */
  readonly args: unknown
  readonly traits: ActionTraits
  readonly isRemote?: boolean
}

/** Adds to a decision what the row of the call, with these arguments as text, does not say. */
export function keepAction(
  decision: KeptDecision,
  { kind, args, traits, isRemote = false }: JudgedAction,
  text: string,
): KeptDecision {
  const { action: _before, ...decided } = decision
  const checked = differing(args, text)
  const action: KeptAction = {
    ...(kind === 'tool' ? {} : { kind }),
    ...(checked === undefined ? {} : { arguments: checked }),
    ...(kind === 'tool' && traits.readOnly === true ? { readOnly: true } : {}),
    ...(isRemote ? { remote: true } : {}),
  }
  return Object.keys(action).length === 0 ? decided : { ...decided, action }
}

/** The arguments, where they differ from the text. Those that JSON cannot carry, or that are nested too deep (T10), count as equal. */
function differing(args: unknown, text: string): string | undefined {
  try {
    const json = JSON.stringify(args)
    if (json === text) return undefined
    const written: unknown = text.trim() === '' ? {} : JSON.parse(text)
    return isDeepStrictEqual(JSON.parse(json), written) ? undefined : json
  } catch {
    return undefined
  }
}

/** A thing that can be looked at: what a person is shown before a call, or a file that it gave. */
export interface Artifact {
  readonly kind: 'preview' | 'result'
  readonly name: string
  /** The path of a file of the thread; left out: `parts` have the content. */
  readonly uri?: string
  /** Left out for a preview of several parts. */
  readonly mediaType?: string
  /** The id of the action. */
  readonly actionId: string
  /** Of a preview, in order. */
  readonly parts?: readonly PreviewPart[]
  /** Of a file: its id, its size in bytes, and what else is known of it. */
  readonly metadata?: JsonObject
}

/** A call as it was judged, and as it ran, if it ran. Secret fields of the arguments are hidden. */
export interface RecordedAction extends Omit<Action, 'arguments'> {
  /** Those of a tool are checked, with defaults applied; if they were refused they are as they were written. Null: they are no JSON. */
  readonly arguments: JsonValue | null
  /** What runs it: code of a worker, a worker in another language, a nested step, another agent in this thread, or a thread of its own. */
  readonly runtimeOwner: 'local' | 'remote' | 'prompt' | 'agent' | 'subagent'
  /** The preview that a person was shown, and the files of the result. */
  readonly artifacts: readonly Artifact[]
}

/** By what a call was judged. */
export interface PermissionState {
  /** Of the thread, else of the worker. */
  readonly mode: PermissionMode
  /** The rules that demanded what was decided, each as `source:rule`. */
  readonly rules: readonly string[]
  /** The sources that demanded it. */
  readonly sources: readonly PermissionDecision['source'][]
  /** False: nobody could be asked. */
  readonly interactive: boolean
}

/**
 * The boundary in which a call ran. There is none: code of tools runs in the process of its worker, with the rights of that process.
 * - `worker_process`: the code of the tool ran in the worker.
 * - `remote_worker`: it ran in a worker in another language.
 * - `no_code`: a prompt, a handoff or a subagent runs no code of its own.
 * - `not_begun`: the call has not begun.
 */
export interface SandboxProfile {
  readonly state: 'unavailable' | 'not_applicable'
  readonly reason: 'worker_process' | 'remote_worker' | 'no_code' | 'not_begun'
}

/** What the rows around a call say of its action. */
interface RecordedCall {
  readonly id: string
  readonly name: string
  /** As text. */
  readonly arguments: string
  readonly startedAt: number | null
  readonly decision: KeptDecision
  /** What a person was shown. */
  readonly preview: readonly PreviewPart[]
  /** The files of its result. */
  readonly files: readonly AttachmentRef[]
}

interface Recorded {
  readonly action: RecordedAction
  readonly permission: PermissionState
  readonly sandbox: SandboxProfile
}

/** Reads the record of an action from the rows around its call. */
export function recordOf(call: RecordedCall): Recorded {
  const { decision, startedAt } = call
  const { action: kept = {}, source, sources, mode = 'default', rules = [], interactive = true } = decision
  const { kind = 'tool', remote: isRemote = false } = kept
  const runtimeOwner = isRemote ? 'remote' : OWNERS[kind]
  const { capabilities = [], destructive = false } = decision
  return {
    action: {
      ...{ id: call.id, kind, name: call.name, capabilities, destructive, runtimeOwner },
      arguments: shownArguments(kept.arguments ?? call.arguments),
      // What an agent or a prompt does is judged by its own calls.
      readOnly: kind === 'tool' ? kept.readOnly === true : true,
      artifacts: artifactsOf(call),
    },
    permission: { mode, rules, sources: sources ?? [source], interactive },
    sandbox: sandboxOf(runtimeOwner, startedAt !== null),
  }
}

const OWNERS = {
  tool: 'local',
  prompt: 'prompt',
  hand_off: 'agent',
  subagent: 'subagent',
  subagent_message: 'subagent',
} as const satisfies Readonly<Record<ActionKind, RecordedAction['runtimeOwner']>>

function sandboxOf(owner: RecordedAction['runtimeOwner'], hasBegun: boolean): SandboxProfile {
  if (!hasBegun) return { state: 'not_applicable', reason: 'not_begun' }
  if (owner === 'local') return { state: 'unavailable', reason: 'worker_process' }
  if (owner === 'remote') return { state: 'unavailable', reason: 'remote_worker' }
  return { state: 'not_applicable', reason: 'no_code' }
}

/** A model may write broken JSON, and JSON that is nested too deep to be looked through (T10). */
function shownArguments(text: string): JsonValue | null {
  try {
    return text.trim() === '' ? {} : redactFields(JSON.parse(text) as JsonValue)
  } catch {
    return null
  }
}

function artifactsOf({ id: actionId, preview, files }: RecordedCall): readonly Artifact[] {
  return [
    ...(preview.length === 0 ? [] : [previewArtifact(actionId, preview)]),
    ...files.map((file) => resultArtifact(actionId, file)),
  ]
}

function previewArtifact(actionId: string, parts: readonly PreviewPart[]): Artifact {
  const [first, ...others] = parts
  const only = others.length === 0 ? first : undefined
  return {
    ...{ kind: 'preview', name: first?.title ?? 'preview', actionId, parts },
    ...(only?.type === 'file' ? { uri: only.path } : {}),
    ...(only?.type === 'text' ? { mediaType: 'text/plain' } : {}),
    ...(only?.type === 'json' ? { mediaType: 'application/json' } : {}),
  }
}

function resultArtifact(
  actionId: string,
  { path, name, mimeType, type: _file, ...known }: AttachmentRef,
): Artifact {
  return { kind: 'result', name, uri: path, mediaType: mimeType, actionId, metadata: known }
}
