import type { RecordedError, ThreadSnapshot } from '../client/index.js'
import type { Message } from '../index.js'
import type { FileRecord } from '../protocol/message.js'

/** One line shows at most this of a text; the whole is in the store. */
const SHOWN = 2000

/** What a thread is and what it waits for. */
export function snapshotLines(snapshot: ThreadSnapshot): readonly string[] {
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

/** Lines under a title; nothing if there are none. */
export function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', title, ...lines.map((line) => `  ${cut(line)}`)]
}

function pendingLine(request: ThreadSnapshot['pending'][number]): string {
  const since = `since ${timeOf(request.requestedAt)}`
  if (request.kind === 'variables') return `${request.id}: variables ${request.missing.join(', ')}, ${since}`
  return `${request.id}: ${request.kind} of ${request.toolName} ${JSON.stringify(request.args ?? {})}, ${since}`
}

/** A row of the transcript, its calls, its files. */
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
  const [first = '', ...more] = cut(message.content ?? '').split('\n')
  return [
    `${place} ${indent}${who}${message.content === null || message.content === '' ? '' : `: ${first}`}`,
    // No line of a text looks like the beginning of a row.
    ...[...more, ...rest.map(cut)].map((line) => `     ${indent}  ${line}`),
  ]
}

/** The stack of an error begins with its words, as a rule; deeper lines are of the runtime. */
const STACK_LINES = 8

/** What a provider said, or what code threw. */
export function errorLines({ at, type, id, message, stack }: RecordedError): readonly string[] {
  return [`${timeOf(at)} ${type} (${id})`, ...errorWords({ message, stack }).map((line) => `  ${line}`)]
}

/** Message and beginning of the stack, a line each. */
export function errorWords({ message, stack }: Pick<RecordedError, 'message' | 'stack'>): readonly string[] {
  const frames = (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return [...cut(message).split('\n'), ...frames.slice(0, STACK_LINES).map((line) => line.trim())]
}

export function fileLine({ path, mimeType, size }: Pick<FileRecord, 'path' | 'mimeType' | 'size'>): string {
  return `${path}, ${mimeType}, ${size} bytes`
}

function callsOf({ tool_calls }: Message): readonly { readonly name: string; readonly args: string }[] {
  // Rows hold what the runtime wrote: a list of calls as JSON.
  const calls = JSON.parse(tool_calls ?? '[]') as { function: { name: string; arguments: string } }[]
  return calls.map(({ function: made }) => ({ name: made.name, args: made.arguments }))
}

export function cut(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)} … (${text.length} characters in all)`
}

function timeOf(microseconds: number): string {
  return new Date(microseconds / 1000).toISOString().replace('T', ' ').slice(0, 19)
}
