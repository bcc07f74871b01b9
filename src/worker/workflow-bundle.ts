import { readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createHash } from 'node:crypto'
import type { BundleOptions, BundlerPlugin, WorkerOptions, WorkflowBundleOption } from '@temporalio/worker'
import { checkPeer } from '../activities/peer-packages.js'
import { ACTIVITIES } from '../protocol/answer-problem.js'
import { ConfigError } from '../protocol/errors.js'
import { THREAD_WORKFLOW } from '../protocol/messages.js'
import { CONVERTER_MARKER } from '../protocol/payload-converter.js'

/** Compiled files are next to `.js`, sources (when tests run them) next to `.ts`. */
const EXTENSION = extname(new URL(import.meta.url).pathname)

/**
 * What Temporal's `bundleWorkflowCode` needs to bundle threads ahead of time; with workflows of your own give it their path
 * and `plugins: [new EverthreadPlugin({ registry })]` instead. The bundle does not depend on agents: workers take it as
 * `workflowBundle: { codePath }`. Workflows are reached by path, never by import.
 */
export const workflowBundleOptions = {
  workflowsPath: pathOf('workflows/index'),
  payloadConverterPath: pathOf('protocol/payload-converter'),
  workflowInterceptorModules: [pathOf('workflows/interceptors')],
  webpackConfigHook: leanBundle,
}

/** Our workflows with a user's own. */
const BESIDE_THEIRS = pathOf('workflows/beside-theirs')

/** The files that stand for a user's own modules, in whose place the bundler puts these. */
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
 * module's path, a twentieth of the bundle, and the comments of our own code, another twentieth. Lines and source maps stay
 * as they are.
 * @throws ConfigError if `@temporalio/workflow` is not installed, instead of hundreds of lines of webpack
 */
function leanBundle(config: LeanWebpackConfig): LeanWebpackConfig {
  checkPeer('@temporalio/workflow')
  const { module: modules, output } = config
  const rules = [...(modules?.rules ?? []), { test: /\.[jt]s$/, include: OURS, use: [LOADER] }]
  return { ...config, output: { ...output, pathinfo: false }, module: { ...modules, rules } }
}

/**
 * Refuses a prebuilt bundle that would wedge threads: the SDK ignores a worker's `payloadConverterPath` when it has a
 * bundle, so without ours in it one undecodable signal would stop a thread for ever (T10).
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
  // The converter names the workflow type too; the name of an activity that only a thread calls is found in its code alone.
  if (!code.includes(ACTIVITIES.settle))
    problems.push(
      `Expected workflowBundle to hold the workflow ${THREAD_WORKFLOW}, got one without it: ${make}`,
    )
  if (!code.includes(CONVERTER_MARKER))
    problems.push(
      `Expected workflowBundle to hold Everthread's payload converter, got one without it: ${make}`,
    )
  return problems
}

/** As bytes: to decode a bundle costs more than to search and to digest it. @throws ConfigError for a file that cannot be read */
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
 * Puts threads into a bundle: `agentThread` beside the workflows that are there, our payload converter around theirs (T10),
 * our interceptors before theirs. The bundle of a worker without workflows of its own stays ours alone.
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
    // Theirs sees ours, and has the last word.
    webpackConfigHook: (config) => hook(withModules(leanBundle(config), theirs)),
  }
}

/** The same for a worker that bundles its own code. */
export const threadBundler: BundlerPlugin = { name: 'everthread', configureBundler: bundleThreads }

function isTheirs(path: string | undefined): path is string {
  return path !== undefined && path !== workflowBundleOptions.payloadConverterPath
}

/** Webpack takes their module wherever ours asks for the file that stands for it. */
function withModules(config: WebpackConfig, modules: ReadonlyMap<string, string>): WebpackConfig {
  const { alias: known = {} } = config.resolve ?? {}
  const theirs = [...modules].map(([name, alias]) => ({ name, alias, onlyModule: true }))
  const alias = Array.isArray(known)
    ? [...known, ...theirs]
    : { ...known, ...Object.fromEntries(theirs.map((one) => [`${one.name}$`, one.alias])) }
  return { ...config, resolve: { ...config.resolve, alias } }
}

/**
 * The name of a worker's workflow code, which a history repeats six times a step: Temporal's own name of 90 characters would
 * be a seventh of a step's history. Null for code that is bundled with a user's own when the worker starts: it keeps
 * Temporal's name.
 */
export function codeName({ workflowBundle, workflowsPath }: WorkerOptions): string | null {
  if (workflowBundle !== undefined)
    return `everthread+${createHash('sha256').update(codeOf(workflowBundle)).digest('hex').slice(0, 12)}`
  return workflowsPath === undefined ? `everthread@${packageVersion()}` : null
}

/** The package's own file is two folders up, from the sources as from what is built of them. */
function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  // Written by us.
  return (JSON.parse(text) as { readonly version: string }).version
}
