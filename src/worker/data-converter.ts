import type { DataConverter } from '@temporalio/common'

import { ConfigError } from '../protocol/config-error.js'
import { workflowBundleOptions } from './workflow-paths.js'

/** A user's codecs and failure converter with our payload converter (T10). @throws ConfigError if they have one of their own */
export function threadDataConverter(given: DataConverter = {}): DataConverter {
  if (given.payloadConverterPath === undefined)
    return { ...given, payloadConverterPath: workflowBundleOptions.payloadConverterPath }
  throw new ConfigError([
    "Expected no dataConverter.payloadConverterPath, got one: threads need Everthread's converter; " +
      'codecs and a failure converter may stay.',
  ])
}
