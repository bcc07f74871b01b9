/** What there is to know of a thread beside its conversation and its steps. */
import { Fragment } from 'preact'
import type { ThreadTree } from '../../client/lists/thread-tree.js'
import { formatCost } from '../../protocol/status.js'
import type { BudgetState } from '../../store/budgets/budget-state.js'
import { TakeBack } from '../chat/conversation.js'
import { formatAge, formatCount, formatDuration, formatWord } from '../parts/format.js'
import { threadAddress } from '../parts/route.js'
import { Empty, StatusDot } from '../parts/widgets.js'
import type { OpenThread } from '../state/open-thread.js'
import { Download } from '../parts/attachments.js'

interface PanelProps {
  readonly thread: OpenThread
}

export function Queue({ thread }: PanelProps) {
  const items = thread.queue.value
  if (items.length === 0) return <Empty>Nothing waits: what is sent now is taken by the next step.</Empty>
  return (
    <ul class="list">
      {items.map(({ id, kind, queuedAt, preview }) => (
        <li key={id}>
          <span class="badge">{kind}</span>
          <span class="grow clip">{preview ?? ''}</span>
          <span class="faint">{formatAge(queuedAt)}</span>
          {(kind === 'message' || kind === 'tool' || kind === 'effect') && (
            <TakeBack threadId={thread.id} itemId={id} />
          )}
        </li>
      ))}
    </ul>
  )
}

export function Agents({ thread }: PanelProps) {
  const tree = thread.tree.value
  if (tree === null) return <Empty>Loading…</Empty>
  const parent = thread.summary.value?.parent ?? null
  return (
    <>
      {parent !== null && (
        <p>
          <a href={threadAddress(parent)}>↑ The thread that started this one</a>
        </p>
      )}
      <ul class="tree">
        <Branch tree={tree} threadId={thread.id} />
      </ul>
      {tree.children.length === 0 && <Empty>It has started no subagents.</Empty>}
    </>
  )
}

function Branch({ tree, threadId }: { readonly tree: ThreadTree; readonly threadId: string }) {
  const { agent, status, entry, children } = tree
  return (
    <li>
      <a href={threadAddress(tree.threadId)} aria-current={tree.threadId === threadId ? 'page' : undefined}>
        <StatusDot status={status} />
        <span>{entry?.threadName ?? entry?.title ?? agent}</span>
        <span class="faint clip">
          {agent} · {entry === null ? formatWord(status) : entry.status}
        </span>
      </a>
      {children.length > 0 && (
        <ul>
          {children.map((child) => (
            <Branch key={child.threadId} tree={child} threadId={threadId} />
          ))}
        </ul>
      )}
    </li>
  )
}

export function Files({ thread }: PanelProps) {
  const folder = thread.folder.value
  const open = (path: string): void => {
    thread.folder.value = path
    thread.refresh('files')
  }
  return (
    <>
      {folder !== '/' && (
        <button
          type="button"
          class="button quiet"
          onClick={() => open(folder.slice(0, folder.lastIndexOf('/')) || '/')}
        >
          ↑ {folder}
        </button>
      )}
      {thread.files.value.length === 0 && <Empty>No files here.</Empty>}
      <ul class="list">
        {thread.files.value.map((file) => (
          <li key={file.path}>
            {file.isDirectory ? (
              <button type="button" class="button quiet" onClick={() => open(file.path)}>
                {file.name}/
              </button>
            ) : (
              <Download threadId={thread.id} file={file} />
            )}
            <span class="faint grow clip">{file.isDirectory ? '' : file.mimeType}</span>
            <span class="faint">{formatAge(file.updatedAt)}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

export function Usage({ thread }: PanelProps) {
  const usage = thread.usage.value
  if (usage === null) return <Empty>Loading…</Empty>
  const cost = usage.cost === null ? `${formatCost(usage.knownCost)} and unknown` : formatCost(usage.cost)
  const figures: readonly (readonly [string, string])[] = [
    ['Cost', cost],
    ['Input tokens', formatCount(usage.inputTokens)],
    ['of them cached', formatCount(usage.cachedInputTokens)],
    ['Output tokens', formatCount(usage.outputTokens)],
    ['Requests', `${usage.requests}${usage.failedRequests === 0 ? '' : `, ${usage.failedRequests} failed`}`],
    [
      'Tool calls',
      `${usage.toolCalls}${usage.failedToolCalls === 0 ? '' : `, ${usage.failedToolCalls} failed`}`,
    ],
    ['Runs, steps', `${usage.runs}, ${usage.steps}`],
    ['Answer, median', usage.answerTime.p50 === null ? '–' : formatDuration(usage.answerTime.p50)],
    ['Tool, median', usage.toolTime.p50 === null ? '–' : formatDuration(usage.toolTime.p50)],
    ['Threads', String(usage.threads)],
  ]
  return (
    <>
      <h2>Used, with subagents</h2>
      <dl class="facts">
        {figures.map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd class="number">{value}</dd>
          </Fragment>
        ))}
      </dl>
      {usage.models.length > 0 && <h2>By model</h2>}
      <ul class="list">
        {usage.models.map((model) => (
          <li key={model.model}>
            <span class="grow clip">{model.model}</span>
            <span class="faint">
              {formatCount(model.inputTokens)} → {formatCount(model.outputTokens)}
            </span>
            <span class="number">{formatCost(model.cost)}</span>
          </li>
        ))}
      </ul>
      <h2>Budgets</h2>
      <Budgets budgets={thread.budgets.value} />
    </>
  )
}

function Budgets({ budgets }: { readonly budgets: readonly BudgetState[] }) {
  const limits = budgets.flatMap(({ scope, period, limits: most, used }) =>
    Object.entries(most).map(([limit, value]) => ({
      ...{ scope, period, limit, most: value },
      used: (used as Readonly<Record<string, number>>)[limit] ?? 0,
    })),
  )
  if (limits.length === 0) return <Empty>None are set.</Empty>
  return (
    <ul class="list budgets">
      {limits.map(({ scope, period, limit, most, used }) => (
        <li key={`${scope} ${period} ${limit}`}>
          <span class="grow">
            {limit}{' '}
            <span class="faint">
              of the {scope}
              {period === 'total' ? '' : `, by ${period}`}
            </span>
          </span>
          <meter
            min={0}
            max={most}
            high={most * 0.8}
            value={Math.min(used, most)}
            aria-label={`${limit} of the ${scope}`}
          />
          <span class="number">
            {amount(limit, used)} / {amount(limit, most)}
          </span>
        </li>
      ))}
    </ul>
  )
}

function amount(limit: string, value: number): string {
  if (limit === 'maxCost') return formatCost(value * 1_000_000)
  return limit === 'maxRuntimeSeconds' ? formatDuration(value * 1_000) : formatCount(value)
}
