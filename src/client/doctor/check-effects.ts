import { LIMITS } from '../../protocol/limits.js'
import { SIGNALS } from '../../protocol/messages.js'
import type { Operations } from '../../protocol/messages.js'
import { scheduledEffects } from '../../store/effects.js'
import type { EffectRecord } from '../../store/effects.js'
import type { Reader } from '../../store/store.js'
import type { ThreadRecord } from '../../store/threads.js'
import { isOpen } from '../open-thread.js'
import { signalThread } from '../signal-thread.js'
import { askWorkflow } from './ask-workflow.js'
import { left, repaired } from './finding.js'
import type { Doctor, Finding } from './finding.js'
import { isFresh } from './fresh.js'

/**
 * Effects in the store that the workflow does not know of: a child or parent that scheduled them was ended in Temporal
 * before it told. One that is told of twice is performed once (T9).
 */
export async function checkEffects(doctor: Doctor, thread: ThreadRecord): Promise<readonly Finding[]> {
  // T8: a thread that was asked to end performs nothing any more.
  if (!isOpen(thread)) return []
  const { context } = doctor
  const { id: threadId } = thread
  const store = await context.store()
  const old = await store.read((db) => oldEffects(db, threadId))
  if (old.length === 0) return []
  const unasked = `${old.length} effects are scheduled, and no worker says whether it knows of them`
  const asked = await askWorkflow(doctor, { threadId, unasked })
  if (asked.snapshot === null) return asked.findings
  const { effects, queue } = asked.snapshot
  const known = new Set([...effects, ...queue.filter(({ kind }) => kind === 'effect')].map(({ id }) => id))
  // One that has run since is in neither.
  const scheduled = await store.read((db) => oldEffects(db, threadId))
  const unknown = scheduled.filter(({ id }) => !known.has(id))
  if (unknown.length === 0) return []
  const problem = `${unknown.length} effects are scheduled, and its workflow does not know of them`
  const found = { kind: 'unsignalled', threadId, problem } as const
  const room = LIMITS.effects - effects.length
  if (unknown.length > room)
    return [left(found, `It has room for ${room} more: wait until others have run, or remove some.`)]
  const work = async (): Promise<void> => {
    for (const effect of unknown)
      await signalThread(context, threadId, { name: SIGNALS.operations, input: scheduling(effect) })
  }
  return [await repaired(doctor, found, { work, done: 'It is told of them.' })]
}

async function oldEffects(db: Reader, threadId: string): Promise<readonly EffectRecord[]> {
  return (await scheduledEffects(db, threadId)).filter(({ created_at: at }) => !isFresh(at))
}

function scheduling({ id, due_at: dueAt }: EffectRecord): Operations {
  return { operations: [{ kind: 'schedule_effect', id, dueAt: Math.ceil(dueAt / 1000) }] }
}
