import { IS_LONG } from '../../support/long.js'
import { marked } from '../../support/marker.js'
import type { WireAnswer } from '../../support/provider-wire.js'
import { caseOf } from './model-script.js'
import type { ChatMessage } from './model-script.js'

/** Children of a director, and of each of them. */
export const BRANCHES = IS_LONG ? 20 : 8
export const LEAVES = IS_LONG ? 10 : 5

type Call = readonly [name: string, args: object]
/** The calls of a prompt's answers, one after the other; then it has words only. */
type Script = readonly ((name: string, messages: readonly ChatMessage[]) => readonly Call[])[]

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1)
const split = (parts: number, from: string): Call => ['split', { parts, from }]
/** The order of a child: its case is that of its parent and its number. */
const order = (name: string, part: number) => ({
  task: marked(`Do #${name}-${part}`),
  files: [`/parts/${part}.txt`],
})
const deliver = (name: string, files: readonly string[]): Call => [
  'deliver',
  { summary: marked(`Result of #${name}.`), files },
]
const gather = (name: string, messages: readonly ChatMessage[]): readonly Call[] => [
  ['merge', { files: filesOf(messages) }],
  deliver(name, ['/out/result.txt']),
]

const WAITING = { task: marked('Wait'), files: [] }
const waiting = (name: string, numbered: readonly number[]) =>
  numbered.map((number) => ({ ...WAITING, task: `${WAITING.task} #${name}-${number}` }))

const SCRIPTS: Readonly<Record<string, Script>> = {
  director: [
    (name) => {
      if (name.startsWith('crowd'))
        return [
          ['guests', { items: waiting(name, numbers(50)) }],
          ...waiting(name, numbers(101).slice(50)).map((args): Call => ['guest', args]),
        ]
      if (name.startsWith('cascade'))
        return waiting(name, numbers(4)).map((args, index) => [index === 0 ? 'guest' : 'host', args])
      return [split(BRANCHES, '/attachments/whole.txt')]
    },
    (name) =>
      /^(crowd|cascade)/.test(name)
        ? []
        : numbers(BRANCHES).map((part) => [part % 2 === 0 ? 'manager' : 'foreman', order(name, part)]),
  ],
  manager: [
    (name) => [split(LEAVES, `/attachments/${name.split('-').at(-1)}.txt`)],
    (name) => [['hand', { items: numbers(LEAVES).map((part) => order(name, part)) }]],
    gather,
  ],
  foreman: [
    (name) => [split(LEAVES, `/attachments/${name.split('-').at(-1)}.txt`)],
    (name) => numbers(LEAVES).map((part) => ['hand', order(name, part)]),
    gather,
  ],
  hand: [
    (name) => [['change', { from: `/attachments/${name.split('-').at(-1)}.txt` }]],
    (name) => [deliver(name, ['/out/result.txt'])],
  ],
  guest: [() => [['ask', {}]], (name) => [deliver(name, [])]],
  host: [(name) => [['guests', { items: waiting(name, numbers(3)) }]], (name) => [deliver(name, [])]],
}

/** What a prompt of the tree says: the next answer of its script, going by those that the request shows. */
export function treeAnswer(messages: readonly ChatMessage[]): WireAnswer | undefined {
  const role = /You are the (\w+)\./.exec(JSON.stringify(messages[0]?.content))?.[1] ?? ''
  const script = Object.hasOwn(SCRIPTS, role) ? SCRIPTS[role] : undefined
  if (script === undefined) return undefined
  const name = caseOf(messages)
  const made = messages.filter(({ role: of, tool_calls: calls }) => of === 'assistant' && calls !== undefined)
  const calls = script[made.length]?.(name, messages) ?? []
  if (calls.length === 0) return { text: marked('Noted.') }
  return { toolCalls: calls.map(([tool, args]) => ({ name: tool, input: JSON.stringify(args) })) }
}

/** The files that the results of the last calls name. */
function filesOf(messages: readonly ChatMessage[]): readonly string[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const results = JSON.stringify(messages.slice(last + 1).map(({ content }) => content))
  return [...new Set(results.match(/\/attachments\/[\w-]+\.txt/g))]
}
