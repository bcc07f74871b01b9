import { LIMITS } from '../../protocol/limits.js'
import { SIGNALS } from '../../protocol/messages.js'
import type { Operations } from '../../protocol/messages.js'
import { effectSenders, scheduledEffects } from '../../store/threads/effects.js'
import type { EffectRecord } from '../../store/threads/effects.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import { isOpen } from '../open-thread.js'
import { querySnapshot } from '../query-snapshot.js'
import { signalThread } from '../signal-thread.js'
import { askWorkflow } from './ask-workflow.js'
import { left, repaired } from './finding.js'
import type { Doctor, Finding } from './finding.js'
import { isFresh } from './fresh.js'

/**
 * Effects in the store that the workflow does not know of: a child or parent that scheduled them was ended in Temporal
 * before it told. What whoever scheduled one may still tell is left to it: told by both, it might be done twice (T9).
 */
export async function checkEffects(doctor: Doctor, thread: ThreadRecord): Promise<readonly Finding[]> {
  // T8: a thread that was asked to end performs nothing any more.
  if (!isOpen(thread)) return []
  const { context } = doctor
  const { id: threadId } = thread
  const store = await context.store()
  const old = (await store.read((db) => scheduledEffects(db, threadId))).filter(
    ({ created_at: at }) => !isFresh(at),
  )
  if (old.length === 0) return []
  const unknown = await unknownEffects(doctor, threadId, old)
  if ('findings' in unknown) return unknown.findings
  const unsaid: EffectRecord[] = []
  for (const effect of unknown.effects) if (!(await isToBeTold(doctor, effect))) unsaid.push(effect)
  if (unsaid.length === 0) return []
  // The last that was told came before that.
  const untold = await unknownEffects(doctor, threadId, unsaid)
  if ('findings' in untold) return untold.findings
  return untold.effects.length === 0 ? [] : [await told(doctor, threadId, untold)]
}

interface Unknown {
  readonly effects: readonly EffectRecord[]
  /** How many more its workflow takes. */
  readonly room: number
}

/** Those of `candidates` that are scheduled and that its workflow does not know of. */
async function unknownEffects(
  doctor: Doctor,
  threadId: string,
  candidates: readonly EffectRecord[],
): Promise<Unknown | { readonly findings: readonly Finding[] }> {
  const unasked = `${candidates.length} effects are scheduled, and no worker says whether it knows of them`
  const asked = await askWorkflow(doctor, { threadId, unasked })
  if (asked.snapshot === null) return asked
  const { effects, queue } = asked.snapshot
  const known = new Set([...effects, ...queue.filter(({ kind }) => kind === 'effect')].map(({ id }) => id))
  const store = await doctor.context.store()
  // One that has run since is in neither.
  const scheduled = new Set((await store.read((db) => scheduledEffects(db, threadId))).map(({ id }) => id))
  return {
    effects: candidates.filter(({ id }) => scheduled.has(id) && !known.has(id)),
    room: LIMITS.effects - effects.length,
  }
}

/** Of a thread that told all that it had to tell. */
const RESTING: ReadonlySet<string> = new Set(['idle', 'stopped', 'blocked'])

/** Whoever scheduled it is at work, and may not have come to it. */
async function isToBeTold({ context }: Doctor, { thread_id: threadId, id }: EffectRecord): Promise<boolean> {
  const store = await context.store()
  for (const sender of await store.read((db) => effectSenders(db, threadId, id))) {
    const answer = await querySnapshot(context, sender)
    if (answer.kind === 'gone') continue
    if (answer.kind === 'silent' || !RESTING.has(answer.snapshot.status)) return true
  }
  return false
}

async function told(doctor: Doctor, threadId: string, { effects, room }: Unknown): Promise<Finding> {
  const problem = `${effects.length} effects are scheduled, and its workflow does not know of them`
  const found = { kind: 'unsignalled', threadId, problem } as const
  if (effects.length > room)
    return left(found, `It has room for ${room} more: wait until others have run, or remove some.`)
  const work = async (): Promise<void> => {
    for (const effect of effects)
      await signalThread(doctor.context, threadId, { name: SIGNALS.operations, input: scheduling(effect) })
  }
  return repaired(doctor, found, { work, done: 'It is told of them.' })
}

function scheduling({ id, due_at: dueAt }: EffectRecord): Operations {
  return { operations: [{ kind: 'schedule_effect', id, dueAt: Math.ceil(dueAt / 1000) }] }
}
