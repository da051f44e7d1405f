/** Field numbers of google/pprof's `proto/profile.proto`, message by message. */

export const PROFILE_SAMPLE_TYPE = 1;
export const PROFILE_SAMPLE = 2;
export const PROFILE_MAPPING = 3;
export const PROFILE_LOCATION = 4;
export const PROFILE_FUNCTION = 5;
export const PROFILE_STRING_TABLE = 6;
export const PROFILE_TIME_NANOS = 9;
export const PROFILE_DURATION_NANOS = 10;
export const PROFILE_PERIOD_TYPE = 11;
export const PROFILE_PERIOD = 12;
export const PROFILE_COMMENT = 13;
export const PROFILE_DEFAULT_SAMPLE_TYPE = 14;

export const VALUE_TYPE_TYPE = 1;
export const VALUE_TYPE_UNIT = 2;

export const SAMPLE_LOCATION_ID = 1;
export const SAMPLE_VALUE = 2;
export const SAMPLE_LABEL = 3;

export const LABEL_KEY = 1;
export const LABEL_STR = 2;
export const LABEL_NUM = 3;

export const MAPPING_ID = 1;
export const MAPPING_MEMORY_START = 2;
export const MAPPING_MEMORY_LIMIT = 3;
export const MAPPING_FILENAME = 5;
export const MAPPING_BUILD_ID = 6;
export const MAPPING_HAS_FUNCTIONS = 7;

export const LOCATION_ID = 1;
export const LOCATION_MAPPING_ID = 2;
export const LOCATION_ADDRESS = 3;
export const LOCATION_LINE = 4;

export const LINE_FUNCTION_ID = 1;
export const LINE_LINE = 2;

export const FUNCTION_ID = 1;
export const FUNCTION_NAME = 2;
export const FUNCTION_SYSTEM_NAME = 3;
export const FUNCTION_FILENAME = 4;
export const FUNCTION_START_LINE = 5;
