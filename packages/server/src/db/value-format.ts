/** A server reads the text of values, and a move copies it. A role or a database may have other defaults. */
export const valueFormat = {
  timezone: 'UTC',
  datestyle: 'ISO',
  intervalstyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
}
