import { expect, test } from 'vitest'
import { ConfigError } from '../protocol/errors.js'
import { threadDeployment } from './worker-options.js'

const version = { deploymentName: 'desk', buildId: '1' }

test('threads move to a new version unless the deployment sets another behavior', () => {
  expect(threadDeployment({ version, useWorkerVersioning: true })).toEqual({
    version,
    useWorkerVersioning: true,
    defaultVersioningBehavior: 'AUTO_UPGRADE',
  })
})

test('a deployment without worker versioning has no behavior', () => {
  expect(threadDeployment({ version, useWorkerVersioning: false })).toEqual({
    version,
    useWorkerVersioning: false,
  })
})

test('a deployment that pins all workflows is refused', () => {
  expect(() =>
    threadDeployment({ version, useWorkerVersioning: true, defaultVersioningBehavior: 'PINNED' }),
  ).toThrow(ConfigError)
})
