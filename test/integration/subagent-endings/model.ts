import { createGate } from '../../support/gate.js'
import type { Gate } from '../../support/gate.js'
import { marked } from '../../support/marker.js'
import type { WireAnswer } from '../../support/provider-wire.js'
import { caseOf } from '../worker/model-script.js'
import type { ChatMessage } from '../worker/model-script.js'
import type { Answerer } from '../worker/model-server.js'

/** Every request of one prompt in one case waits here. */
export interface HeldVoice {
  /** Resolves when a request is there. */
  readonly arrived: Promise<void>
  release(): void
}

/** Clerk, worker, reviewer and climber: each does what the last words that it was given ask for. */
export interface EndingsModel {
  readonly answerer: Answerer
  /** From now on; a later hold is another one. */
  hold(name: string, prompt: Voice): HeldVoice
}

type Voice = 'clerk' | 'worker' | 'climber'

const never = new Promise<WireAnswer>(() => undefined)

export function endingsModel(): EndingsModel {
  const holds = new Map<string, { readonly arrived: Gate; readonly released: Gate }>()
  return {
    async answerer(messages) {
      const voice = voiceOf(messages)
      // The lowest rung of a ladder that is to stand.
      if (voice === 'climber' && taskOf(messages).join(' ') === 'wait 0') return never
      const hold = holds.get(`${caseOf(messages)} ${voice}`)
      hold?.arrived.open()
      await hold?.released.passed
      return SAYS[voice](messages)
    },
    hold(name, prompt) {
      const held = { arrived: createGate(), released: createGate() }
      holds.set(`${name} ${prompt}`, held)
      return { arrived: held.arrived.passed, release: held.released.open }
    },
  }
}

/** What the subagent of a case says when its session ends by itself. */
export function wordsOf(name: string, task: string): string {
  return marked(`${task} is done for #${name}`)
}

const SAYS: Readonly<Record<Voice | 'reviewer', Answerer>> = {
  clerk,
  worker,
  climber,
  reviewer: (messages) => ({ text: `Go on, #${caseOf(messages)}.` }),
}

function voiceOf([system]: readonly ChatMessage[]): keyof typeof SAYS {
  const [, voice] = /You are the (\w+)/.exec(JSON.stringify(system?.content)) ?? []
  if (voice === undefined || !Object.hasOwn(SAYS, voice)) throw new Error(`Expected a voice, got ${voice}.`)
  return voice as keyof typeof SAYS
}

function clerk(messages: readonly ChatMessage[]): WireAnswer {
  const name = caseOf(messages)
  const last = lastGiven(messages)
  const words = last?.role === 'user' ? JSON.stringify(last.content) : ''
  const [, kind = '', task] = /please start (\w+): (Task: [\w ]+#[\w-]+)/.exec(words) ?? []
  if (task !== undefined) return start(kind, marked(task))
  const [, referenceId, message] = /please tell (\S+): (Task: [\w ]+#[\w-]+)/.exec(words) ?? []
  if (message === undefined) return { text: marked(`Noted, #${name}.`) }
  return call('subagent_message', { referenceId, message: marked(message), attachments: [] })
}

/** Behind the history stands what the model is told of its subagents. */
function lastGiven(messages: readonly ChatMessage[]): ChatMessage | undefined {
  return messages.findLast(
    ({ role, content }) =>
      role !== 'system' && !JSON.stringify(content).includes('The subagents of this conversation'),
  )
}

/** A subagent that stays has a name and a message, one that does not has arguments. */
function start(kind: string, task: string): WireAnswer {
  if (kind === 'ladder') return call(kind, { task })
  const files = [NOTES]
  if (kind.startsWith('once')) return call(kind, { task, files })
  return call('subagent_create', { agent: kind, name: 'Robin', message: task, attachments: files })
}

const NOTES = '/attachments/notes.txt'

function worker(messages: readonly ChatMessage[]): ReturnType<Answerer> {
  const [verb, which] = taskOf(messages)
  const words = wordsOf(caseOf(messages), `${verb} ${which}`)
  if (verb === 'deliver') return call('deliver', { words, files: [NOTES] })
  if (verb === 'fail') return call('give_up', { words, files: [NOTES] })
  if (verb === 'look') return call('look', {})
  return verb === 'break' ? { status: 400 } : { text: marked('A little more.') }
}

/** One rung after the other, each by the one above it; the lowest one delivers first. */
function climber(messages: readonly ChatMessage[]): WireAnswer {
  const name = caseOf(messages)
  const [verb, which] = taskOf(messages)
  const rungs = Number(which)
  const last = lastGiven(messages)
  if (last?.role === 'tool' || rungs === 0)
    return call('deliver', { words: wordsOf(name, `climb ${rungs}: ${JSON.stringify(last?.content)}`) })
  return call('ladder', { task: marked(`Task: ${verb} ${rungs - 1} #${name}`) })
}

/** The last one that was given. */
function taskOf(messages: readonly ChatMessage[]): readonly [verb: string, which: string] {
  const given = messages.filter(({ role }) => role === 'user').map(({ content }) => JSON.stringify(content))
  const [, verb = '', which = ''] = [...given.join().matchAll(/Task: (\w+) (\w+) #/g)].at(-1) ?? []
  return [verb, which]
}

function call(name: string, input: object): WireAnswer {
  return { toolCalls: [{ name, input: JSON.stringify(input) }] }
}
