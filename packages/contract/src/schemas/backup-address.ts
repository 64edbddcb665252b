/** Whether the address of backups is a bucket, such as `s3://bucket/prefix`. Any other address is a path. */
export const isS3Address = (address: string): boolean => address.startsWith('s3:')
