import type { Answer, PendingRequest } from '../client/index.js'
import { truncate } from './inspect.js'
import type { Terminal } from './terminal.js'

interface Asking {
  readonly terminal: Terminal
  /** Withdraws the question. */
  readonly signal: AbortSignal
}

type CallRequest = Extract<PendingRequest, { readonly kind: 'call' }>

/** Asks a person for what a call waits for: a login, a value that fits its form, or any text. */
export async function askForResult(
  asking: Asking,
  request: CallRequest,
  whose: string,
): Promise<Answer | null> {
  const { connect, form, toolName, args, failure } = request
  if (connect !== undefined) return askForLogin(asking, connect)
  const call = `${toolName} ${truncate(JSON.stringify(args ?? {}))}${whose}`
  const { terminal, signal } = asking
  if (failure !== undefined) terminal.problem(`${toolName} has failed (${failure.category}).`)
  if (form !== undefined) return askForForm(asking, call, form)
  const text = await terminal.ask(`\n${call} waits for its result: `, signal)
  return text === null ? null : { result: { status: 'success', result: text } }
}

/** The address that the person was sent back to has the answer in its query. An empty line declines. */
async function askForLogin(
  { terminal, signal }: Asking,
  { server, url }: NonNullable<CallRequest['connect']>,
): Promise<Answer | null> {
  terminal.line(`\n${server} wants you to log in: ${url}`)
  for (;;) {
    const text = await terminal.ask('The address that you were sent to then, or nothing to decline: ', signal)
    if (text === null) return null
    if (text.trim() === '') return { result: { status: 'error', error: 'The person declined.' } }
    const query = queryOf(text.trim())
    if (query !== null) return { result: { status: 'success', result: query } }
    terminal.problem(
      'Expected an address with code and state, such as https://app.example.com/connected?code=…&state=…',
    )
  }
}

/** Null: it is no such address. */
function queryOf(text: string): Readonly<Record<string, string>> | null {
  if (!URL.canParse(text)) return null
  const query = Object.fromEntries(new URL(text).searchParams)
  return query['state'] === undefined || (query['code'] ?? query['error']) === undefined ? null : query
}

async function askForForm(
  { terminal, signal }: Asking,
  call: string,
  form: NonNullable<CallRequest['form']>,
): Promise<Answer | null> {
  if (form.description !== undefined) terminal.line(`\n${form.description}`)
  const isText = form.type === 'string'
  const wants = isText ? '' : `, as JSON in one line for ${truncate(JSON.stringify(form.properties ?? form))}`
  for (;;) {
    const text = await terminal.ask(`\n${call} waits for its result${wants}: `, signal)
    if (text === null) return null
    if (isText) return { result: { status: 'success', result: text } }
    try {
      // JSON of a person: the answer is checked by the form.
      return { result: { status: 'success', result: JSON.parse(text) as never } }
    } catch (error) {
      terminal.problem(`Expected JSON: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}
