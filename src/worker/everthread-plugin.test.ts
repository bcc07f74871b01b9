import type { WorkerOptions } from '@temporalio/worker'
import { expect, test } from 'vitest'
import { emptyRegistry } from '../../test/support/empty-registry.js'
import { ConfigError } from '../protocol/errors.js'
import { EverthreadPlugin } from './everthread-plugin.js'
import { WORKER_KNOBS } from './worker-options.js'
import { workflowBundleOptions } from './workflow-bundle.js'

const plugin = new EverthreadPlugin({ registry: emptyRegistry })
const configured = (options: Partial<WorkerOptions>): WorkerOptions =>
  plugin.configureWorker({ taskQueue: 'orders', ...options })
const version = { deploymentName: 'orders', buildId: '1' }

test("a user's activities stay, and ours are named apart", () => {
  const ship = async (): Promise<string> => 'shipped'
  const activities = configured({ activities: { ship } }).activities as Record<string, unknown>
  expect(activities['ship']).toBe(ship)
  const added = Object.keys(activities).filter((name) => name !== 'ship')
  expect(added).toContain('thread.callModel')
  expect(added.every((name) => name.startsWith('thread.'))).toBe(true)
})

test('limits of accounts need no store before the worker runs, and wrong ones are refused', () => {
  const limited = new EverthreadPlugin({ registry: emptyRegistry, rateLimits: { tokensPerMinute: 1 } })
  expect(() => limited.configureWorker({ taskQueue: 'orders' })).not.toThrow()
  const wrong = { tokensPerMinute: Number.NaN }
  expect(() => new EverthreadPlugin({ registry: emptyRegistry, rateLimits: wrong })).toThrow(ConfigError)
})

test('our knobs hold only where the user set none', () => {
  expect(configured({})).toMatchObject(WORKER_KNOBS)
  const unset: object = { shutdownGraceTime: undefined }
  expect(configured(unset)).toMatchObject(WORKER_KNOBS)
  const own = { shutdownGraceTime: '1 minute', maxHeartbeatThrottleInterval: '5s' } as const
  expect(configured(own)).toMatchObject({ ...WORKER_KNOBS, ...own })
})

test('our workflows are there where the user has none', () => {
  expect(configured({}).workflowsPath).toBe(workflowBundleOptions.workflowsPath)
  expect(configured({ workflowsPath: '/own/workflows.js' }).workflowsPath).toBe('/own/workflows.js')
})

test("a user's data converter and interceptors stay", () => {
  const dataConverter = { payloadConverterPath: '/own/converter.js', payloadCodecs: [] }
  const activity = (): object => ({})
  const options = configured({ dataConverter, interceptors: { activity: [activity] } })
  expect(options.dataConverter).toBe(dataConverter)
  // Ours is the first, so the outermost: no failure of theirs reaches a history as it is (T5).
  expect(options.interceptors?.activity?.[1]).toBe(activity)
})

test('a bundle gets threads beside, and webpack hears the user last', () => {
  const options = plugin.configureBundler({
    workflowsPath: '/own/workflows.js',
    payloadConverterPath: '/own/converter.js',
    workflowInterceptorModules: ['/own/interceptors.js'],
    webpackConfigHook: (config) => ({ ...config, name: 'own' }),
  })
  expect(options.workflowsPath).toMatch(/workflows\/beside-theirs\.ts$/)
  expect(options.payloadConverterPath).toBe(workflowBundleOptions.payloadConverterPath)
  expect(options.workflowInterceptorModules).toEqual([
    ...workflowBundleOptions.workflowInterceptorModules,
    '/own/interceptors.js',
  ])
  const config = options.webpackConfigHook?.({ resolve: { alias: { known: '/known.js' } } })
  expect(config?.name).toBe('own')
  const alias = Object.entries(config?.resolve?.alias ?? {})
  expect(alias[0]).toEqual(['known', '/known.js'])
  expect(alias.map(([, path]) => path)).toEqual(['/known.js', '/own/workflows.js', '/own/converter.js'])
})

test('a prebuilt bundle without threads is refused', () => {
  expect(() => configured({ workflowBundle: { code: 'exports = {}' } })).toThrow(/agentThread[^]+converter/)
})

test('a worker of tools keeps its own workflow code as it is', () => {
  const tools = new EverthreadPlugin({ registry: emptyRegistry, workflows: false })
  const options = tools.configureWorker({ taskQueue: 'tools', workflowBundle: { code: 'exports = {}' } })
  expect(Object.keys(options.activities ?? {})).toContain('thread.executeTool')
  expect(tools.configureWorker({ taskQueue: 'tools' }).workflowsPath).toBeUndefined()
  const bundle = { workflowsPath: '/own/workflows.js' }
  expect(tools.configureBundler(bundle)).toEqual(bundle)
})

test('threads move to a new version, and pinning them is refused', () => {
  const deployed = (behavior: 'AUTO_UPGRADE' | 'PINNED'): WorkerOptions =>
    configured({
      workerDeploymentOptions: { version, useWorkerVersioning: true, defaultVersioningBehavior: behavior },
    })
  expect(deployed('AUTO_UPGRADE').workerDeploymentOptions).toMatchObject({ version })
  expect(() => deployed('PINNED')).toThrow(ConfigError)
})

test('options that cannot work are refused at once', () => {
  const make = (): unknown => new EverthreadPlugin({ registry: emptyRegistry, limits: { stepsPerRun: 0 } })
  const free = { inputPrice: Number.NaN, outputPrice: 0 }
  expect(() => new EverthreadPlugin({ registry: emptyRegistry, prices: { free } })).toThrow(ConfigError)
  expect(make).toThrow(ConfigError)
})
