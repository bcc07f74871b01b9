import type { Answer, ApprovalRequest, BudgetRequest } from '../client/index.js'
import { truncate } from './inspect.js'
import type { Terminal } from './terminal.js'

interface Asking {
  readonly terminal: Terminal
  /** Withdraws the question. */
  readonly signal: AbortSignal
}

/** Asks a person about a call: shows what it would do, and takes a yes, a no with its reason, other arguments, or a yes that is remembered. */
export async function askForApproval(
  { terminal, signal }: Asking,
  request: ApprovalRequest,
  whose: string,
): Promise<Answer | null> {
  terminal.line()
  for (const line of linesOf(request)) terminal.line(`  ${line}`)
  const call = `${request.toolName} ${truncate(JSON.stringify(request.args ?? {}))}${whose}`
  const choices = request.answers.includes('arguments')
    ? 'y/N, e: edit, a: always here, or why not'
    : 'y/N, a: always here, or why not'
  const answer = await terminal.ask(`Allow ${call}? [${choices}] `, signal)
  if (answer === null) return null
  const words = answer.trim()
  if (/^(y|yes)$/i.test(words)) return { approved: true, by: 'cli' }
  if (/^(a|always)$/i.test(words)) return { approved: true, by: 'cli', remember: { for: 'thread' } }
  if (/^(e|edit)$/i.test(words) && request.answers.includes('arguments'))
    return askForArguments({ terminal, signal })
  const reason = /^(n|no|)$/i.test(words) ? {} : { reason: words }
  return { approved: false, by: 'cli', ...reason }
}

/** Asks a person whether a limit is raised: by as much again, or to a number. */
export async function askForBudget(
  { terminal, signal }: Asking,
  { scope, period, limit, most, used }: BudgetRequest,
  whose: string,
): Promise<Answer | null> {
  const span = period === 'total' ? '' : ` of this ${period}`
  const about = `${limit} ${most} of the ${scope}${span}${whose} does not allow for more, ${used} is used`
  for (;;) {
    const answer = await terminal.ask(`\n${about}. Raise it? [y/N, or the new limit] `, signal)
    if (answer === null) return null
    const words = answer.trim()
    if (/^(n|no|)$/i.test(words)) return { approved: false, by: 'cli' }
    if (/^(y|yes)$/i.test(words)) return { approved: true, by: 'cli' }
    if (Number(words) > Math.max(most, used)) return { approved: true, by: 'cli', raise: Number(words) }
    terminal.problem(`Expected y, n or a number above ${Math.max(most, used)}, got ${words.slice(0, 60)}`)
  }
}

/** What a person should know before they decide. */
function linesOf({ preview = [], decision, approvers, expiresAt }: ApprovalRequest): readonly string[] {
  const { destructive, reason } = decision ?? {}
  const facts = typeof destructive === 'object' ? destructive : null
  return [
    ...preview.flatMap((part) => [
      ...(part.title === undefined ? [] : [`${part.title}:`]),
      ...linesOfPart(part),
    ]),
    ...(reason === undefined ? [] : [`Why it asks: ${reason}`]),
    ...(facts === null ? [] : [`What it changes: ${facts.impact}`]),
    ...(facts?.undo === undefined ? [] : [`To undo it: ${facts.undo}`]),
    ...(approvers?.roles ?? []).map((list) => `Who may answer: ${list.join(', ')}`),
    ...(expiresAt === undefined ? [] : [`Until ${new Date(expiresAt / 1000).toISOString()}`]),
  ]
}

function linesOfPart(part: NonNullable<ApprovalRequest['preview']>[number]): readonly string[] {
  switch (part.type) {
    case 'text':
      return part.text.split('\n')
    case 'json':
      return JSON.stringify(part.value, null, 2).split('\n')
    case 'diff':
      return [
        ...part.before.split('\n').map((line) => `- ${line}`),
        ...part.after.split('\n').map((line) => `+ ${line}`),
      ]
    case 'file':
      return [`The file ${part.path} of the thread`]
  }
}

async function askForArguments({ terminal, signal }: Asking): Promise<Answer | null> {
  for (;;) {
    const text = await terminal.ask('The arguments, as JSON in one line: ', signal)
    if (text === null) return null
    try {
      return { approved: true, by: 'cli', arguments: JSON.parse(text) as never }
    } catch (error) {
      terminal.problem(`Expected JSON: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}
