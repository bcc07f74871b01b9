// `npm run configuration`: writes docs/generated/configuration.md from the option types of the source and their comments.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { LIMITS } from '../src/protocol/limits.js'

const ROOT = join(import.meta.dirname, '..')

/** What a member of an option type says of itself. */
interface Option {
  readonly name: string
  readonly type: string
  readonly text: string
  readonly byDefault: string | null
}

/** The environment: variable, who reads it, what it is, its default. */
export const ENVIRONMENT: readonly (readonly [string, string, string, string])[] = [
  [
    '`TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, `TEMPORAL_PROFILE`, …',
    'all',
    "Temporal's own environment configuration",
    '`localhost:7233`, `default`',
  ],
  [
    '`EVERTHREAD_TASK_QUEUE`',
    'all',
    'the task queue of workers and clients',
    "`everthread-` and the store's id",
  ],
  [
    '`EVERTHREAD_DATABASE_URL`',
    'all',
    'the store: a SQLite file or `postgres://user:password@host:5432/database`',
    '`file:.everthread/threads.db`',
  ],
  ['`EVERTHREAD_BLOBS_URL`', 'all', 'the bytes of files: a folder or a bucket', '`file:.everthread/blobs`'],
  ['`AWS_…`', 'all', 'credentials of the bucket, read by the AWS SDK', 'none'],
  [
    '`EVERTHREAD_SECRET_KEY`',
    'all',
    'seals secret variables and logins: 32 bytes as base64 or hex; several, by commas: the first seals, all open',
    'none',
  ],
  [
    '`EVERTHREAD_EGRESS_ALLOW`',
    'clients, workers, `everthread serve`',
    'hosts and networks that webhooks and HTTP tools may reach beside the public internet, by commas',
    'none',
  ],
  ['`EVERTHREAD_LOG`', 'worker', '`json` or `text`', '`text`'],
  [
    '`EVERTHREAD_LOG_LEVEL`',
    'worker',
    '`trace`, `debug`, `info`, `warn` or `error`',
    '`info` without the lines of the SDK; `warn` in tests and in `dev`',
  ],
  [
    '`EVERTHREAD_TOKENS`',
    '`everthread serve`',
    '`TOKEN ACCOUNT` by commas; without an account: an operator',
    'none',
  ],
  ['`EVERTHREAD_TOOL_WORKERS`', '`everthread serve`', '`TOKEN QUEUE …` by commas', 'none'],
  [
    '`EVERTHREAD_UI_URL`',
    '`everthread serve`',
    'the Temporal UI, to which the page for people links; without a namespace it gets the one of the client',
    'no link',
  ],
  [
    '`EVERTHREAD_PAGE_URL`',
    'clients, `everthread serve`',
    'the page for people, to which the Temporal UI leads from the threads that they create',
    'no address',
  ],
  ['`EVERTHREAD_CACHE`', '`everthread dev`', 'the folder of downloaded servers', '`~/.cache/everthread`'],
  ['`TEMPORAL_TEST_SERVER_PATH`', 'tests', 'the time-skipping test server', 'a download of the SDK'],
  [
    '`TEMPORAL_CLI_PATH`',
    '`everthread dev`, tests',
    'the Temporal CLI, for `server: "dev"`',
    'a download of the SDK',
  ],
]

/** The option types of each section, by their names in the source. */
const SECTIONS: readonly {
  readonly title: string
  readonly text?: string
  readonly types: readonly string[]
}[] = [
  {
    title: 'Worker',
    text: "`createWorker` takes these and every option of Temporal's `WorkerOptions`; `EverthreadPlugin` takes `ThreadOptions`.",
    types: ['ThreadOptions', 'CreateWorkerOptions', 'RunCaps', 'ModelPrices'],
  },
  {
    title: 'Client',
    types: [
      'ThreadClientOptions',
      'StoreOptions',
      'CreateThread',
      'ThreadLimits',
      'NewMessage',
      'WaitUntilIdle',
    ].concat([
      'FollowEvents',
      'FollowWithSnapshot',
      'NewWebhook',
      'MessageCallback',
      'EgressOptions',
      'MessagesOptions',
      'UsageOptions',
      'ListThreads',
      'StopOptions',
      'SweepThreads',
      'Examine',
      'DeleteThread',
    ]),
  },
  {
    title: 'HTTP server',
    text: '`serveThreads` takes all of these, `createThreadApp` those without `port`, `hostname` and `closeGrace`.',
    types: [
      'ServeThreadsOptions',
      'ThreadAppOptions',
      'PageOptions',
      'Authentication',
      'Token',
      'ThreadEndpoints',
      'ToolWorker',
      'RateLimit',
    ],
  },
  {
    title: 'Definitions',
    types: ['AgentDefinition', 'SideConfig', 'PromptDefinition', 'ReasoningConfig', 'SubpromptConfig']
      .concat([
        'SubagentToolConfig',
        'ResumableConfig',
        'ImmediateConfig',
        'ModelDefinition',
        'ModelCapabilities',
      ])
      .concat([
        'ModelRateLimit',
        'ToolDefinition',
        'ActionTraits',
        'ToolRetry',
        'ToolResult',
        'HookDefinition',
        'VariableDefinition',
      ]),
  },
  {
    title: 'Policy, budgets and limits',
    types: ['ThreadPermissions', 'ApprovalRule', 'Budget', 'Budgets', 'OwnerBudgets', 'RateLimits'],
  },
  {
    title: 'Testing',
    text: '`createTestEnvironment` takes `TestEnvironmentOptions`, `Replacements`, and of `ThreadOptions` `permissions`, `permissionMode`, `policy`, `approval`, `budgets`, `prices` and `rateLimits`.',
    types: ['TestEnvironmentOptions', 'Replacements', 'ReplayOptions', 'RecordHistoriesOptions'],
  },
]

export function configurationPage(): string {
  const sources = sourceTexts()
  return [
    '# Configuration',
    '',
    'Written by `npm run configuration` from the option types and their comments; not edited by hand. Times without a unit are milliseconds; those that are read (`requestedAt`, `expiresAt`, `createdAt`) are microseconds since 1970.',
    '',
    '## Environment',
    '',
    '| variable | read by | is | default |',
    '| --- | --- | --- | --- |',
    ...ENVIRONMENT.map((row) => `| ${row.join(' | ')} |`),
    '',
    ...PLACES,
    ...SECTIONS.flatMap(({ title, text, types }) => [
      `## ${title}`,
      '',
      ...(text === undefined ? [] : [text, '']),
      ...types.flatMap((name) => section(name, optionsOf(sources, name))),
      ...(title === 'Worker' ? KNOBS : []),
    ]),
    ...BOUNDS,
  ].join('\n')
}

/** What differs from Temporal's defaults, where the user of a worker sets nothing. */
const KNOBS = [
  '### What differs from the defaults of Temporal',
  '',
  'Options of the worker only where you set nothing.',
  '',
  '- **`stickyQueueScheduleToStartTimeout`**: 2 s, instead of 10. So long a thread stands still when its worker dies.',
  '- **`workflowTaskTimeout`** of threads: 5 s, instead of 10. So long it does when that worker had its workflow task. There is no option for it.',
  '- **`shutdownGraceTime`**: 10 minutes, as long as a model call may take. With less, each longer call is paid again at each deploy.',
  '- **`defaultVersioningBehavior`**: `AUTO_UPGRADE`, with deployment versions. A pinned idle thread would never wake after its workers are gone.',
  '',
]

const DAY = 24 * 3_600_000
const MB = 1024 * 1024

/** What a thread holds at most. Each has its reason in the source. */
const BOUNDS = [
  '## Limits',
  '',
  `- Queue: ${LIMITS.queuedItems} items; ${LIMITS.queuedByCall} from one call. Scheduled effects: ${LIMITS.effects}, at most ${LIMITS.effectDelay / DAY} days ahead.`,
  `- A message: ${LIMITS.messageBytes / MB} MB of text, ${LIMITS.messageAttachments} files. A file: ${LIMITS.fileBytes / MB} MB. A variable: ${LIMITS.variableBytes / 1024} KB.`,
  `- A tool result above ${LIMITS.toolResultBytes / 1024} KB is stored as a file, and shown as head, tail and path. One answer has at most ${LIMITS.toolCallsPerAnswer} calls.`,
  `- A tool: ${LIMITS.toolTimeout / 60_000} minutes by default, a day at most. A hook: ${LIMITS.hookTimeout / 1000} s by default, ${LIMITS.longestHook / 60_000} minutes at most.`,
  `- A model call: ${LIMITS.modelCall / 60_000} minutes; ${LIMITS.modelFirstChunk / 1000} s until the first chunk, ${LIMITS.modelStall / 1000} s between two.`,
  `- A run: ${LIMITS.stepsPerRun} steps, ${LIMITS.sessionTurns} session turns, ${LIMITS.repeatedToolErrors} equal tool errors in a row.`,
  `- Subagents: ${LIMITS.openChildren} open, ${LIMITS.childrenInAll} in all, ${LIMITS.childDepth} threads deep, ${LIMITS.fanOut} in one fan-out. Prompts as tools: ${LIMITS.frameDepth} deep.`,
  `- Ids: a thread ${LIMITS.threadIdLength} characters, a message ${LIMITS.messageIdLength} bytes.`,
  `- HTTP: bodies of ${LIMITS.requestBytes / MB} MB without files, pages of ${LIMITS.longestPage} rows.`,
  '',
]

const PLACES = [
  'A PostgreSQL URL takes the parameters of libpq (`sslmode=verify-full`, `sslrootcert`, `options`, `application_name`) and `connections`, which',
  'bounds the connections of a process (20 by default). A bucket is `s3://bucket/prefix?region=…`, with `&endpoint=…` for other services than AWS;',
  'then the bucket stands in the path, and `&forcePathStyle=false` puts it into the host name.',
  '',
]

function section(name: string, options: readonly Option[]): readonly string[] {
  return [`### ${name}`, '', ...options.map(line), '']
}

function line({ name, type, text, byDefault }: Option): string {
  const kind = [type === '' ? '' : `\`${type}\``, byDefault === null ? '' : `default ${byDefault}`]
  const said = kind.filter((part) => part !== '').join(', ')
  return `- **\`${name}\`**${said === '' ? '' : ` (${said})`}${text === '' ? '' : `: ${text}`}`
}

/**
 * The members of an option type: of the one that a door exports, else of the only one of that name.
 * @throws an error for a name that the source does not have, or has several times
 */
export function optionsOf(sources: Sources, name: string): readonly Option[] {
  const exported = exportedFrom(sources, name)
  const declared = new RegExp(`^(?:export )?interface ${name}\\b[\\s\\S]*?\\{\\n([\\s\\S]*?)\\n\\}`, 'm')
  const bodies = [...sources].flatMap(([path, text]) => {
    if (exported !== undefined && path !== exported) return []
    const [, body] = declared.exec(text) ?? []
    return body === undefined ? [] : [body]
  })
  const [body = '', ...others] = bodies
  const options = [...body.matchAll(MEMBER)].flatMap(([, comment = '', ...rest]) => option(comment, rest))
  if (options.length === 0 || others.length > 0)
    throw new Error(`Expected one interface ${name} with members in the source, found ${bodies.length}.`)
  return options
}

/** The file that a door has a name from. */
function exportedFrom(sources: Sources, name: string): string | undefined {
  const files = [...sources].flatMap(([path, text]) =>
    path.endsWith('/index.ts')
      ? [...text.matchAll(/^export (?:type )?\{([^}]*)\} from '([^']+)'/gm)].flatMap(
          ([, names = '', from = '']) =>
            names.split(',').some((one) => one.trim() === name)
              ? [join(dirname(path), from.replace(/\.js$/, '.ts'))]
              : [],
        )
      : [],
  )
  return files[0]
}

/** A member at the depth of two spaces, with the comment before it; of a type of several lines the first one. */
const MEMBER = /(?:^ {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?^ {2}(?:readonly (\w+)(\?)?:[ ]?(.*)|(\w+)\()/gm

function option(
  comment: string,
  [member = '', , type = '', method = '']: readonly (string | undefined)[],
): readonly Option[] {
  if (comment.includes('@deprecated')) return []
  const words = comment.replaceAll(/\s*\n\s*\*\s?/g, ' ').trim()
  const [text = '', byDefault] = words.replace(/ ?@(?:see|throws) .*$/, '').split('@default ')
  // Of a type that goes on in the next line nothing is shown: the definition has it.
  const shown = /[{|(<]$/.test(type) ? '' : type.replaceAll('readonly ', '').replaceAll('|', '\\|')
  return [
    {
      name: member || method,
      type: shown.replaceAll('\\|', '|'),
      text: text.trim(),
      byDefault: byDefault?.trim() ?? null,
    },
  ]
}

/** Texts by path, from the root of the project. */
type Sources = ReadonlyMap<string, string>

function sourceTexts(): Sources {
  const paths = globSync('src/**/*.ts', { cwd: ROOT }).filter((path) => !path.endsWith('.test.ts'))
  return new Map(paths.toSorted().map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]))
}

if (import.meta.main) writeFileSync(join(ROOT, 'docs/generated/configuration.md'), configurationPage())
