import type { RecordedError, ThreadEvent, ThreadHandle, ThreadSnapshot, ThreadTree } from '../client/index.js'
import type { Message } from '../index.js'
import type { FileRecord } from '../protocol/message.js'
import type { Command, CommandContext, Terminal } from './terminal.js'
import { usageLines } from './usage-lines.js'
import { toMillis } from '../protocol/time.js'
import type { Micros } from '../protocol/time.js'

const PAGE = 500
/** Only the newest errors are shown; `--events` shows the errors of all events. */
const SHOWN_ERRORS = 10

/** Shows the content of a thread, which the Temporal UI does not have. */
export const inspect: Command = {
  usage: '<thread> [--events] [--follow]',
  summary:
    'show status, what waits, children, usage, files, errors and transcript; --events what happened, --follow what happens next',
  arguments: ['thread'],
  flags: { events: 'boolean', follow: 'boolean' },
  async run(context, given) {
    const thread = context.threads.get(given.arguments[0] ?? '')
    const sequence = await showThread(context, thread)
    const { events, follow } = given.flags
    const after = events === true ? 0 : sequence
    if (events === true || follow === true)
      await showEvents(context, thread, { after, follow: follow === true })
  },
}

async function showThread({ terminal }: CommandContext, thread: ThreadHandle): Promise<number> {
  const [snapshot, tree] = await Promise.all([thread.snapshot(), thread.tree()])
  for (const line of [...snapshotLines(snapshot), ...treeLines(tree)]) terminal.line(line)
  const usage = await thread.usage({ tree: true })
  for (const line of section('Used so far', usageLines(usage))) terminal.line(line)
  const files: string[] = []
  for await (const file of filesBelow(thread, '/')) files.push(fileLine(file))
  for (const line of section('Files', files)) terminal.line(line)
  const errors = await thread.errors({ limit: SHOWN_ERRORS })
  for (const line of section('Errors, the newest last', errors.flatMap(errorLines))) terminal.line(line)
  terminal.line('\nTranscript')
  for await (const message of listTranscript(thread))
    for (const line of messageLines(message)) terminal.line(`  ${line}`)
  return snapshot.lastSequence
}

/** Lists the messages, the oldest first, with silent and nested ones. */
async function* listTranscript(thread: ThreadHandle) {
  for (let after = 0; ;) {
    const page = await thread.messages({ after, limit: PAGE, includeSilent: true, maxDepth: 8 })
    yield* page.messages
    const last = page.messages.findLast(({ position }) => position !== null)?.position
    if (last == null || !page.hasMore) return
    after = last
  }
}

/** Lists all files below a folder, folder by folder. */
async function* filesBelow(thread: ThreadHandle, folder: string): AsyncGenerator<FileRecord> {
  const { entries } = await thread.readdirFile(folder)
  for (const entry of entries)
    if (entry.isDirectory) yield* filesBelow(thread, entry.path)
    else yield entry
}

interface Shown {
  readonly after: number
  readonly follow: boolean
}

async function showEvents(
  { terminal }: CommandContext,
  thread: ThreadHandle,
  { after, follow }: Shown,
): Promise<void> {
  const ended = new AbortController()
  const undo = terminal.onInterrupt(() => ended.abort())
  terminal.line(follow ? '\nEvents (Ctrl-C ends)' : '\nEvents')
  try {
    for await (const event of thread.events({ after, follow, signal: ended.signal }))
      showEvent(terminal, event, await readErrorOf(thread, event))
  } finally {
    undo()
  }
}

/** Reads the original error that an event names, as lines. */
async function readErrorOf(thread: ThreadHandle, { payload }: ThreadEvent): Promise<readonly string[]> {
  if (!('errorId' in payload) || typeof payload.errorId !== 'string') return []
  const [error] = await thread.errors({ id: payload.errorId })
  return error === undefined ? [] : errorWords(error)
}

/** Formats all threads below a thread, each under the one that started it. */
function treeLines({ children }: ThreadTree): readonly string[] {
  return section('Children', linesOf(children, ''))
}

function linesOf(threads: readonly ThreadTree[], indent: string): readonly string[] {
  return threads.flatMap((thread) => [
    `${indent}${lineOf(thread)}`,
    ...linesOf(thread.children, `${indent}  `),
  ])
}

function lineOf({ threadId, agent, status, closedAt, entry }: ThreadTree): string {
  const named = entry?.threadName === undefined ? '' : ` "${entry.threadName}"`
  // A deferred child waits for variables, and has done nothing yet.
  const open = entry?.status === 'deferred' ? 'open' : `open (${status})`
  const state = `${entry?.status ?? status}, ${closedAt === null ? open : 'closed'}`
  return `${threadId} ${entry?.name ?? agent}${named}: ${state}`
}

/** Text that streams, whose message replaces it, and phases. */
const HIDDEN: ReadonlySet<string> = new Set(['model.delta', 'reasoning.delta', 'tool.args', 'step.phase'])

/** Shows an event as a line, with the lines of the error that it names. Streaming text is left out: its message replaces it. */
function showEvent(terminal: Terminal, event: ThreadEvent, words: readonly string[] = []): void {
  if (HIDDEN.has(event.type)) return
  const time = event.timestamp.slice(11, 19)
  if (event.type === 'message.created' && event.payload.message !== null) {
    const [first = '', ...rest] = messageLines(event.payload.message)
    terminal.line(`${time} ${first.trim()}`)
    for (const line of rest) terminal.line(`         ${line.trim()}`)
    return
  }
  terminal.line(`${time} ${event.type} ${JSON.stringify(event.payload)}`)
  for (const line of words) terminal.line(`         ${line}`)
}

/** The longest part of a text that is shown; the whole text is in the store. */
const SHOWN = 2000

/** Describes a thread and what it waits for. */
function snapshotLines(snapshot: ThreadSnapshot): readonly string[] {
  const { threadId, agent, status, run, lastRun } = snapshot
  return [
    `Thread ${threadId}: agent ${agent}, ${status}${snapshot.stale ? ' (as recorded: it is closed, or no worker answered)' : ''}`,
    `  created ${timeOf(snapshot.createdAt)}${originOf(snapshot)}`,
    ...(run === null
      ? []
      : [`  ${run.runId}: side ${run.side}, ${run.steps} steps, ${run.doing ?? 'between two steps'}`]),
    ...(lastRun === null
      ? []
      : [`  last: ${lastRun.runId}, ${lastRun.reason}, ${lastRun.steps} steps, ${timeOf(lastRun.endedAt)}`]),
    ...section('Waiting for an answer', snapshot.pending.map(pendingLine)),
    ...section(
      'Queue',
      snapshot.queue.map(
        ({ kind, id, preview }) => `${kind} ${id}${preview === undefined ? '' : `: ${preview}`}`,
      ),
    ),
    ...section(
      'Scheduled',
      snapshot.effects.map(({ name, id, scheduledAt }) => `${timeOf(scheduledAt)} ${name} (${id})`),
    ),
  ]
}

function originOf({ parent, root }: ThreadSnapshot): string {
  return parent === null ? '' : `, child of ${parent}, root ${root}`
}

/** Puts lines under a title; no title without lines. */
function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', title, ...lines.map((line) => `  ${truncate(line)}`)]
}

function pendingLine(request: ThreadSnapshot['pending'][number]): string {
  const since = `since ${timeOf(request.requestedAt)}`
  if (request.kind === 'variables') return `${request.id}: variables ${request.missing.join(', ')}, ${since}`
  if (request.kind === 'budget')
    return `${request.id}: ${request.limit} of the ${request.scope}, ${request.used} of ${request.most} used, ${since}`
  return `${request.id}: ${request.kind} of ${request.toolName} ${JSON.stringify(request.args ?? {})}, ${since}`
}

/** Formats a row of the transcript with its calls and files. */
export function messageLines(message: Message): readonly string[] {
  const indent = '  '.repeat(message.depth)
  const place = String(message.position ?? '·').padStart(4)
  const marks = [message.silent ? 'silent' : '', message.status === 'completed' ? '' : message.status]
  const marked = marks.filter((mark) => mark !== '').join(', ')
  const who = `${message.role}${message.name === null ? '' : ` ${message.name}`}${marked === '' ? '' : ` (${marked})`}`
  const rest = [
    ...callsOf(message).map(({ name, args }) => `→ ${name}(${args})`),
    ...message.attachments.map((file) => `[file ${fileLine(file)}]`),
  ]
  const [first = '', ...more] = truncate(message.content ?? '').split('\n')
  return [
    `${place} ${indent}${who}${message.content === null || message.content === '' ? '' : `: ${first}`}`,
    // Indented, so that no line of a text looks like the beginning of a row.
    ...[...more, ...rest.map(truncate)].map((line) => `     ${indent}  ${line}`),
  ]
}

/** The number of stack frames that are shown: deeper ones belong to the runtime. */
const STACK_LINES = 8

/** Formats the error of a provider or of code. */
function errorLines({ at, type, id, message, stack }: RecordedError): readonly string[] {
  return [`${timeOf(at)} ${type} (${id})`, ...errorWords({ message, stack }).map((line) => `  ${line}`)]
}

/** Returns the lines of the message and the first frames of the stack. */
function errorWords({ message, stack }: Pick<RecordedError, 'message' | 'stack'>): readonly string[] {
  const frames = (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return [...truncate(message).split('\n'), ...frames.slice(0, STACK_LINES).map((line) => line.trim())]
}

function fileLine({ path, mimeType, size }: Pick<FileRecord, 'path' | 'mimeType' | 'size'>): string {
  return `${path}, ${mimeType}, ${size} bytes`
}

function callsOf({ tool_calls }: Message): readonly { readonly name: string; readonly args: string }[] {
  // The runtime wrote the row: a list of calls as JSON.
  const calls = JSON.parse(tool_calls ?? '[]') as { function: { name: string; arguments: string } }[]
  return calls.map(({ function: made }) => ({ name: made.name, args: made.arguments }))
}

export function truncate(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)} … (${text.length} characters in all)`
}

function timeOf(at: Micros): string {
  return new Date(toMillis(at)).toISOString().replace('T', ' ').slice(0, 19)
}
