import { readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createHash } from 'node:crypto'
import type { BundleOptions, BundlerPlugin, WorkerOptions, WorkflowBundleOption } from '@temporalio/worker'
import { checkPeer } from '../activities/peer-packages.js'
import { ACTIVITIES } from '../protocol/answer-problem.js'
import { ConfigError } from '../protocol/errors.js'
import { THREAD_WORKFLOW } from '../protocol/messages.js'
import { DELIVER_OUTCOME, TOOL_WORKFLOW } from '../protocol/payloads/tool-workflow.js'
import { CONVERTER_MARKER } from '../protocol/payload-converter.js'

/** Compiled files are next to `.js`, sources (when tests run them) next to `.ts`. */
const EXTENSION = extname(new URL(import.meta.url).pathname)

/**
 * Options of Temporal's `bundleWorkflowCode` that bundle threads ahead of time. With workflows of your own, pass their path
 * and `plugins: [new EverthreadPlugin({ registry })]` instead. The bundle does not depend on agents; workers take it as
 * `workflowBundle: { codePath }`. Workflows are named by path, never imported.
 */
export const workflowBundleOptions = {
  workflowsPath: pathOf('workflows/index'),
  payloadConverterPath: pathOf('protocol/payload-converter'),
  workflowInterceptorModules: [pathOf('workflows/interceptors')],
  webpackConfigHook: leanBundle,
}

/** Our workflows together with a user's own. */
const BESIDE_THEIRS = pathOf('workflows/beside-theirs')

/** Placeholder files, which the bundler replaces by a user's own modules. */
const THEIR_WORKFLOWS = pathOf('workflows/their-workflows')

const THEIR_CONVERTER = pathOf('protocol/inner-payload-converter')

function pathOf(module: string): string {
  return fileURLToPath(new URL(`../${module}${EXTENSION}`, import.meta.url))
}

type LeanWebpackConfig = Parameters<NonNullable<BundleOptions['webpackConfigHook']>>[0]

const OURS = fileURLToPath(new URL('..', import.meta.url))

const LOADER = fileURLToPath(
  new URL(`../worker/without-comments${extname(new URL(import.meta.url).pathname)}`, import.meta.url),
)

/**
 * Removes text that no worker runs, because each worker reads and parses its bundle when it starts: the banner with each
 * module's path (a twentieth of the bundle) and the comments of our own code (another twentieth). Line numbers and source
 * maps stay as they are. Modules that only one other needs become one with it: the SDK evaluates the bundle anew for each
 * workflow that is not in its cache, and hundreds of modules were a twelfth of a replay.
 * @throws ConfigError if `@temporalio/workflow` is not installed, instead of hundreds of lines of webpack
 */
function leanBundle(config: LeanWebpackConfig): LeanWebpackConfig {
  checkPeer('@temporalio/workflow')
  const { module: modules, output, optimization } = config
  const rules = [...(modules?.rules ?? []), { test: /\.[jt]s$/, include: OURS, use: [LOADER] }]
  return {
    ...config,
    output: { ...output, pathinfo: false },
    module: { ...modules, rules },
    // Joining modules needs to know which exports are used.
    optimization: { ...optimization, concatenateModules: true, usedExports: true, sideEffects: true },
  }
}

/**
 * Refuses a prebuilt bundle without our payload converter. The SDK ignores a worker's `payloadConverterPath` when it has a
 * bundle, and without our converter one undecodable signal stops a thread for ever (T10).
 * @throws ConfigError
 */
export function checkWorkflowBundle(bundle: WorkflowBundleOption): void {
  const problems = bundleProblems(codeOf(bundle))
  if (problems.length > 0) throw new ConfigError(problems)
}

function bundleProblems(code: Buffer): readonly string[] {
  const make =
    'make it with bundleWorkflowCode(workflowBundleOptions) from everthread/worker, or, with workflows of your own, ' +
    'with bundleWorkflowCode({ workflowsPath, plugins: [new EverthreadPlugin({ registry })] }).'
  const problems: string[] = []
  // The converter contains the workflow type too, so the test is the name of an activity that only a thread calls.
  if (!code.includes(ACTIVITIES.settle))
    problems.push(
      `Expected workflowBundle to hold the workflow ${THREAD_WORKFLOW}, got one without it: ${make}`,
    )
  else if (!code.includes(DELIVER_OUTCOME))
    problems.push(
      `Expected workflowBundle to hold the workflow ${TOOL_WORKFLOW}, got one of an earlier version without it: ${make}`,
    )
  if (!code.includes(CONVERTER_MARKER))
    problems.push(
      `Expected workflowBundle to hold Everthread's payload converter, got one without it: ${make}`,
    )
  return problems
}

/** Bytes, because decoding a bundle costs more than searching and digesting it. @throws ConfigError for an unreadable file */
function codeOf(bundle: WorkflowBundleOption): Buffer {
  if ('code' in bundle) return Buffer.from(bundle.code)
  try {
    return readFileSync(bundle.codePath)
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'an error'
    const expected = `Expected workflowBundle.codePath to be a readable file, got ${reason} for "${bundle.codePath}"`
    throw new ConfigError([`${expected}: bundle the workflows first.`])
  }
}

type WebpackConfig = Parameters<NonNullable<BundleOptions['webpackConfigHook']>>[0]

/**
 * Adds threads to a bundle: `agentThread` beside the user's workflows, our payload converter around the user's (T10), our
 * interceptors before the user's. Without workflows of the user's, the bundle has ours only.
 */
export function bundleThreads(options: BundleOptions): BundleOptions {
  const { workflowsPath: ours, payloadConverterPath, workflowInterceptorModules } = workflowBundleOptions
  const theirs = new Map<string, string>()
  if (options.workflowsPath !== ours) theirs.set(THEIR_WORKFLOWS, options.workflowsPath)
  if (isTheirs(options.payloadConverterPath)) theirs.set(THEIR_CONVERTER, options.payloadConverterPath)
  const hook = options.webpackConfigHook ?? ((config) => config)
  return {
    ...options,
    workflowsPath: theirs.has(THEIR_WORKFLOWS) ? BESIDE_THEIRS : ours,
    payloadConverterPath,
    workflowInterceptorModules: [
      ...workflowInterceptorModules,
      ...(options.workflowInterceptorModules ?? []),
    ],
    // The user's hook runs last and gets our changes.
    webpackConfigHook: (config) => hook(withModules(leanBundle(config), theirs)),
  }
}

/** Adds threads to the bundle of a worker that bundles its code when it starts. */
export const threadBundler: BundlerPlugin = { name: 'everthread', configureBundler: bundleThreads }

function isTheirs(path: string | undefined): path is string {
  return path !== undefined && path !== workflowBundleOptions.payloadConverterPath
}

/** Aliases each placeholder file to the user's module. */
function withModules(config: WebpackConfig, modules: ReadonlyMap<string, string>): WebpackConfig {
  const { alias: known = {} } = config.resolve ?? {}
  const theirs = [...modules].map(([name, alias]) => ({ name, alias, onlyModule: true }))
  const alias = Array.isArray(known)
    ? [...known, ...theirs]
    : { ...known, ...Object.fromEntries(theirs.map((one) => [`${one.name}$`, one.alias])) }
  return { ...config, resolve: { ...config.resolve, alias } }
}

/**
 * The name of a worker's workflow code. A history repeats it six times a step, and Temporal's own name of 90 characters would
 * be a seventh of a step's history. Null for code that is bundled with a user's own when the worker starts, which keeps
 * Temporal's name.
 */
export function codeName({ workflowBundle, workflowsPath }: WorkerOptions): string | null {
  if (workflowBundle !== undefined)
    return `everthread+${createHash('sha256').update(codeOf(workflowBundle)).digest('hex').slice(0, 12)}`
  return workflowsPath === undefined ? `everthread@${packageVersion()}` : null
}

/** package.json is two folders up, both from the sources and from the built files. */
function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  // Our own file.
  return (JSON.parse(text) as { readonly version: string }).version
}
