import { appendEvents } from '../../../src/store/events.js'
import { appendMessage } from '../../../src/store/messages/delivery.js'
import {
  appendDelta,
  deleteDeltas,
  deleteProgress,
  dropAttempts,
} from '../../../src/store/messages/deltas.js'
import { fact } from '../../../src/protocol/facts.js'
import type { Fact } from '../../../src/protocol/facts.js'
import type { Store } from '../../../src/store/store.js'
import type { SeededRandom } from '../../support/seeded-random.js'
import { forget, nothingShown } from './shown.js'
import type { Shown } from './shown.js'

/** A thread that streams answers and reports of tools, gives attempts up, ends them and tells facts, as chance has it. */
export interface RandomStream {
  /** A transaction or two. */
  step(): Promise<void>
  /** What somebody who never misses anything has seen by now. */
  readonly expected: Shown
}

interface Streaming {
  readonly messageId: string
  /** It is a tool call, and reports what it does. */
  readonly isCall: boolean
  attempt: number
  readonly offsets: Record<'text' | 'reasoning', number>
  /** Of the arguments of its calls. */
  readonly args: number[]
}

export function randomStream(store: Store, threadId: string, random: SeededRandom): RandomStream {
  const expected = nothingShown()
  let messages = 0
  let now: Streaming | null = null

  const tell = (event: Fact) => {
    expected.facts.push(`${expected.facts.length + 1} ${event.type}`)
    return store.write((tx) => appendEvents(tx, { threadId, events: [event], now: 1 }))
  }

  async function stream(streaming: Streaming): Promise<void> {
    if (streaming.isCall) return report(streaming)
    if (random.chance(0.3)) return writeArguments(streaming)
    const kind = random.pick<'text' | 'reasoning'>(['text', 'text', 'reasoning'])
    const text = 'abcdefghij'.slice(0, 1 + random.below(9))
    const { messageId, attempt, offsets } = streaming
    const offset = offsets[kind]
    await store.write((tx) => appendDelta(tx, { threadId, messageId, attempt, kind, offset, text }))
    offsets[kind] += text.length
    const key = `${messageId}/${attempt}/${kind === 'text' ? 'model.delta' : 'reasoning.delta'}`
    expected.texts.set(key, (expected.texts.get(key) ?? '') + text)
  }

  async function writeArguments({ messageId, attempt, args }: Streaming): Promise<void> {
    const index = random.below(Math.min(3, args.length + 1))
    const offset = args.reduce((sum, length) => sum + length, 0)
    const before = args[index] ?? 0
    const text = '{"abcdefg"'.slice(0, 1 + random.below(9))
    const call = { id: `${messageId} ${index}`, name: `tool${index}`, offset: before }
    await store.write((tx) =>
      appendDelta(tx, { threadId, messageId, attempt, kind: 'args', offset, text, call }),
    )
    args[index] = before + text.length
    const key = `${messageId}/${attempt}/tool.args ${call.id}`
    expected.texts.set(key, (expected.texts.get(key) ?? '') + text)
  }

  async function report({ messageId, attempt, offsets }: Streaming): Promise<void> {
    const place = { threadId, messageId, attempt }
    if (random.chance(0.5)) {
      const offset = offsets.reasoning
      offsets.reasoning += 1
      await store.write(async (tx) => {
        await deleteProgress(tx, place)
        await appendDelta(tx, {
          ...{ ...place, kind: 'progress', offset },
          text: JSON.stringify({ progress: offset + 1 }),
        })
      })
      expected.texts.set(`${messageId}/${attempt}/tool.progress`, String(offset + 1))
      return
    }
    const text = 'abcdefghij'.slice(0, 1 + random.below(9))
    await store.write((tx) => appendDelta(tx, { ...place, kind: 'output', offset: offsets.text, text }))
    offsets.text += text.length
    const key = `${messageId}/${attempt}/tool.output`
    expected.texts.set(key, (expected.texts.get(key) ?? '') + text)
  }

  async function tryAgain(streaming: Streaming): Promise<void> {
    streaming.attempt += 1
    streaming.offsets.text = 0
    streaming.offsets.reasoning = 0
    streaming.args.length = 0
    const { messageId, attempt } = streaming
    // A fallback leaves what was streamed to the commit; an attempt after a crash drops it.
    if (random.chance(0.5)) await store.write((tx) => dropAttempts(tx, { threadId, messageId }, attempt))
    await stream(streaming)
  }

  async function commit({ messageId, isCall }: Streaming): Promise<void> {
    if (isCall) {
      const ended = { name: 'work', outcome: 'succeeded', errorCode: null } as const
      expected.facts.push(`${expected.facts.length + 1} tool.result`)
      await store.write(async (tx) => {
        await deleteDeltas(tx, { threadId, messageId })
        const events = [fact('tool.result', ended, { toolCallId: messageId })]
        await appendEvents(tx, { threadId, events, now: 1 })
      })
      forget(expected, messageId)
      return
    }
    const message = { id: messageId, threadId, role: 'assistant', content: 'x', sentBy: 'model' } as const
    const created = fact('message.created', { role: 'assistant' }, { messageId })
    expected.facts.push(`${expected.facts.length + 1} message.created`)
    await store.write(async (tx) => {
      await deleteDeltas(tx, { threadId, messageId })
      await appendMessage(tx, { ...message, createdAt: 1 })
      await appendEvents(tx, { threadId, events: [created], now: 1 })
    })
    forget(expected, messageId)
  }

  return {
    expected,
    async step() {
      now ??= {
        ...{ messageId: `m ${++messages}:${threadId}`, isCall: random.chance(0.4) },
        ...{ attempt: 1, offsets: { text: 0, reasoning: 0 }, args: [] },
      }
      const chance = random.next()
      if (chance < 0.2) await tell(fact('queue.changed', { waiting: 0 }))
      else if (chance < 0.8) await stream(now)
      else if (chance < 0.88) await tryAgain(now)
      else {
        await commit(now)
        now = null
      }
    },
  }
}
