/** What a thread has used, as lines for a terminal. */
import { formatCost } from '../protocol/status.js'
import type { Durations, RequestsUsage, ThreadUsage } from '../protocol/status.js'

/** The counts of a thread or tree, its requests, and those by model if there are several. */
export function usageLines(usage: ThreadUsage): readonly string[] {
  const { messages, runs, steps, toolCalls, failedToolCalls, toolTime, models } = usage
  const calls = `${counted(toolCalls, 'tool call')}${failed(failedToolCalls)}${timesOf(toolTime)}`
  return [
    ...(usage.threads === 1 ? [] : [counted(usage.threads, 'thread')]),
    `${counted(messages, 'message')}, ${counted(runs, 'run')}, ${counted(steps, 'step')}, ${calls}`,
    requestsLine(usage),
    ...(models.length < 2 ? [] : models.map((own) => `${own.model}: ${requestsLine(own)}`)),
  ]
}

/** The requests, tokens and cost in one line. */
export function requestsLine(usage: RequestsUsage): string {
  const { inputTokens, cachedInputTokens, outputTokens } = usage
  const cached = cachedInputTokens === 0 ? '' : ` (${cachedInputTokens} cached)`
  const sent = `${counted(usage.requests, 'request')}${failed(usage.failedRequests)}${timesOf(usage.answerTime)}`
  return `${sent}, ${inputTokens} input${cached} and ${outputTokens} output tokens, ${costOf(usage)}`
}

function costOf({ cost, knownCost }: RequestsUsage): string {
  if (cost !== null) return formatCost(cost)
  return knownCost === 0 ? 'cost unknown' : `${formatCost(knownCost)} and a part that is unknown`
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function failed(count: number): string {
  return count === 0 ? '' : ` (${count} failed)`
}

function timesOf({ p50, p95 }: Durations): string {
  return p50 === null || p95 === null ? '' : ` in ${p50} ms (half), ${p95} ms (95 %)`
}
