rule count_words:
    input:
        code=code("scripts/count_words.py"),
    output:
        words="results/words/{text}/words.parquet",
    log:
        "logs/words/{text}.log",
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
        gpu=0,
    params:
        cfg=given(STAGES["words"].given),
    shell:
        python("count_words.py")
        + " --config {params.cfg:q} --output {output.words:q} > {log:q} 2>&1"
