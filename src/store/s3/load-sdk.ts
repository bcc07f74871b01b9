import { ConfigError } from '../../protocol/errors.js'

/** The parts of the AWS SDK that are used here; types only, so that nobody loads it who has no S3. */
export interface S3Sdk {
  readonly s3: typeof import('@aws-sdk/client-s3')
  readonly Upload: typeof import('@aws-sdk/lib-storage').Upload
}

/** The user's own AWS SDK. @throws ConfigError when it is not installed */
export async function loadS3Sdk(): Promise<S3Sdk> {
  try {
    const [s3, { Upload }] = await Promise.all([import('@aws-sdk/client-s3'), import('@aws-sdk/lib-storage')])
    return { s3, Upload }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error
    throw new ConfigError([
      'Expected the AWS SDK for an s3: URL, got none: run npm install @aws-sdk/client-s3 @aws-sdk/lib-storage',
    ])
  }
}
