/* Decides for rows of doubles on standard input; a line for each: class|cost|posterior|columns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "policy.h"

int main(int argc, char **argv)
{
    static policy_real row[POLICY_COLUMNS];
    policy_case one;
    double budget = argc > 1 ? strtod(argv[1], NULL) : INFINITY;
    while (fread(row, sizeof(policy_real), POLICY_COLUMNS, stdin) == POLICY_COLUMNS) {
        policy_real belief[POLICY_CLASSES];
        int i, label = policy_classify(row, (policy_real)budget, &one);
        policy_posterior(&one, belief);
        printf("%d|%a|", label, (double)one.cost);
        for (i = 0; i < POLICY_CLASSES; i++)
            printf("%a ", (double)belief[i]);
        printf("|");
        for (i = 0; i < one.asked; i++)
            printf("%d ", policy_column(&one, i));
        printf("\n");
    }
    return 0;
}
